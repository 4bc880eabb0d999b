"""Round 46: 24 logs alone, by one author."""
