"""Processes that die: run in a child, read how it ended, bisect a configuration."""
