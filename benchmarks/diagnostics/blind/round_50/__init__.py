"""Round 50: 24 posts alone, by one author."""
