"""Round 40: logs alone, twelve each by two authors."""
