"""Round 22: logs alone, by another author."""
