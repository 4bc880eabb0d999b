"""Round 92: 15 posts alone, by one author."""
