"""Round 122: 15 posts alone, by one author."""
