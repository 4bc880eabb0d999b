"""Tables of scores and of runs side by side, and what an evaluation counts."""
