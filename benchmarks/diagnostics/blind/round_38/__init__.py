"""Round 38: logs alone, by one author."""
