"""Checks answers: declares exercises, runs an answer, compares values, reports the result."""
