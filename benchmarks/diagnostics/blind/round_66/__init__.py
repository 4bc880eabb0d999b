"""Round 66: 15 posts alone, by one author."""
