"""Round 62: 15 posts alone, by one author."""
