"""Causes that a message or a process names."""
