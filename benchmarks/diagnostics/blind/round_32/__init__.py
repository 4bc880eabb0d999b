"""Round 32: logs alone, sixteen by one author."""
