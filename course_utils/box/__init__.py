"""Runs code that nobody has read: a process without network, with bounded memory and time."""
