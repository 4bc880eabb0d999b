"""Broken runs, one per module."""
