"""Stops or skips a step before a number that is not finite reaches the weights."""
