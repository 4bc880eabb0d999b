"""Healthy runs that look broken, one per module."""
