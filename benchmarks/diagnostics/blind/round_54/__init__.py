"""Round 54: 15 posts alone, by one author."""
