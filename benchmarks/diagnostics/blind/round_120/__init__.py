"""Round 120: 15 posts alone, by one author."""
