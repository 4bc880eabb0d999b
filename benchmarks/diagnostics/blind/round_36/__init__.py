"""Round 36: logs alone, twelve each by two authors."""
