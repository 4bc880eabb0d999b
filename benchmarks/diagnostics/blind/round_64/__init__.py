"""Round 64: 15 posts alone, by one author."""
