"""Round 60: 15 posts alone, by one author."""
