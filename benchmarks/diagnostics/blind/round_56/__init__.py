"""Round 56: 15 posts alone, by one author."""
