"""Round 80: 15 posts alone, by one author."""
