"""Round 116: 15 posts alone, by one author."""
