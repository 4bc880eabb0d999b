"""Round 72: 15 posts alone, by one author."""
