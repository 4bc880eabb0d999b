"""Blind round 25: ten cases and three odd healthy runs by each of two authors."""

from benchmarks.diagnostics.blind.round_25 import first, second

CASES = {**first.CASES, **second.CASES}
ODD = {**first.ODD, **second.ODD}
