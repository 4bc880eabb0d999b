"""Round 82: 15 posts alone, by one author."""
