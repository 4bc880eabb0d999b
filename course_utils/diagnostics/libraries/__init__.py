"""What is private to a library, or has another name in another version: one module per library.

A comment at each use says in which versions it was seen. Each has a fallback, or raises
`Unreadable` with the sentence that a report shows under "not seen". No other instrument uses a
private name of a library (`tests/diagnostics/test_libraries.py`).
"""
