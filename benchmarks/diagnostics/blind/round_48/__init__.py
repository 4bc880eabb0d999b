"""Round 48: 24 logs alone, after public threads."""
