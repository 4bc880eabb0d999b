"""Round 26: logs alone, eight each by three authors: supervised, RL, preference."""
