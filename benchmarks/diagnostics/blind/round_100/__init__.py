"""Round 100: 15 posts alone, by one author."""
