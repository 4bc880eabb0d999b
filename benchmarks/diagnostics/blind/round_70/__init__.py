"""Round 70: 15 posts alone, by one author."""
