"""The broken runs of lesson 10: a reward that rises alone."""
