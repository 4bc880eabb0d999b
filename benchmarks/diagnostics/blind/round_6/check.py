"""Proves the round: python -m benchmarks.diagnostics.blind.round_1.check [NAME ...]"""

import sys

from ..check import main

if __name__ == "__main__":
    main(__package__, sys.argv[1:])
