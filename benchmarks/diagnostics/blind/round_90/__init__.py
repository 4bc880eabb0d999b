"""Round 90: 15 posts alone, by one author."""
