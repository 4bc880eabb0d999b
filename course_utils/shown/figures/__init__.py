"""Finishes, checks, describes and shows figures; lessons draw with `plotting`."""
