"""Round 18: logs alone, by another author."""
