"""Causes in the sentences, tables and lists beside the numbers."""
