"""Blind round 27: eight cases with twins and two odd healthy runs, by one author."""
