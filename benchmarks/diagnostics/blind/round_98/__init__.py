"""Round 98: 15 posts alone, by one author."""
