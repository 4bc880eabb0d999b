"""Round 52: 15 posts alone, by one author."""
