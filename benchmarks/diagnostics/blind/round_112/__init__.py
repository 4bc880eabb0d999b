"""Round 112: 15 posts alone, by one author."""
