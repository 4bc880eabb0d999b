"""Scores any tool that diagnoses training runs, ours among them: `make yardstick`."""
