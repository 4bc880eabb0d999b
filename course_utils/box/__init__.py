"""Runs untrusted code in a process without network, with bounded memory and time."""
