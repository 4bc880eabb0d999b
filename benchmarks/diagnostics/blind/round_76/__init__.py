"""Round 76: 15 posts alone, by one author."""
