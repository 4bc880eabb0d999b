"""Looks at a run: each function checks one thing and writes down what it found."""
