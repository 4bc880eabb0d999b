"""Calls that are wrong whatever the numbers say."""
