"""The runs of round 4."""
