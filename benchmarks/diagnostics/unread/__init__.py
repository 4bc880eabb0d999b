"""Logs that nobody reads: what `course explain` says of them is counted, and nothing else is shown.

A blind round is read once it is scored, and tells little the second time. These stay unread, so
that any change of a rule can be held against them: `python -m benchmarks.diagnostics.unread`.
"""
