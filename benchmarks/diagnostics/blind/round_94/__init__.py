"""Round 94: 15 posts alone, by one author."""
