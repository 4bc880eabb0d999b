"""Round 16: logs alone, by another author."""
