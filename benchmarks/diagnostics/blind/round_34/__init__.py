"""Round 34: logs alone, twelve each by two authors."""
