"""Round 110: 15 posts alone, by one author."""
