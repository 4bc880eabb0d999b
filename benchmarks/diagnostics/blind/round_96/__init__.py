"""Round 96: 15 posts alone, by one author."""
