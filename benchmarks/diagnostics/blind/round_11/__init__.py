"""Round 11: logs alone, by another author."""
