"""Round 78: 15 posts alone, by one author."""
