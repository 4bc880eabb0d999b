"""Instruments for processes that die: run in a child, read how it ended, bisect its settings."""
