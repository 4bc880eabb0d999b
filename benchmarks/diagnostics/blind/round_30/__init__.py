"""Round 30: logs alone, twelve each by two authors."""
