"""Round 68: 15 posts alone, by one author."""
