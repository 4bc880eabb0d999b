"""Round 42: logs alone, twelve each by two authors."""
