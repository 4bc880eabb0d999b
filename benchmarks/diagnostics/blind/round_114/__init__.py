"""Round 114: 15 posts alone, by one author."""
