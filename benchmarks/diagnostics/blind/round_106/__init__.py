"""Round 106: 15 posts alone, by one author."""
