"""Round 13: logs alone, by another author."""
