"""Round 104: 15 posts alone, by one author."""
