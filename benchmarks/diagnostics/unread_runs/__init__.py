"""Broken runs, their healthy twins and odd healthy runs that nobody here reads, a file an author.

A blind round is read once it is scored, and tells little the second time. These stay unread, so
that any change of `diagnose` can be held against them:
`python -m benchmarks.diagnostics.unread_runs`.
"""
