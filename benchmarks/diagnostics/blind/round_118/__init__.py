"""Round 118: 15 posts alone, by one author."""
