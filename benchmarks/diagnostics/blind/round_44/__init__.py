"""Round 44: logs alone, ten each by two authors."""
