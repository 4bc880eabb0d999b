"""Round 108: 15 posts alone, by one author."""
