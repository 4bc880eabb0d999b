"""Round 58: 15 posts alone, by one author."""
