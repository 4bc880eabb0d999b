"""Round 88: 15 posts alone, by one author."""
