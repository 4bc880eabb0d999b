"""Round 20: logs alone, by another author."""
