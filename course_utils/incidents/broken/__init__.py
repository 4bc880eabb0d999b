"""One broken run a module."""
