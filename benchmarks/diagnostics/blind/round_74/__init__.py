"""Round 74: 15 posts alone, by one author."""
