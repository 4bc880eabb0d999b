"""Round 86: 15 posts alone, by one author."""
