"""Round 84: 15 posts alone, by one author."""
