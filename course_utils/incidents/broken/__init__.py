"""One broken run per module."""
