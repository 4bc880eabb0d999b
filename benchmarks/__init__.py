"""Measures what things cost, side by side: `make bench`. Nothing here is a test."""
