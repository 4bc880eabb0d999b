"""Round 24: logs alone, eight each by three authors."""
