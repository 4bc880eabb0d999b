"""Submissions in, results out: what is graded runs in a box, and what decides stands outside it."""
