"""Round 102: 15 posts alone, by one author."""
