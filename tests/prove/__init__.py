"""The proof of everything: what it is made of, and the record of what holds for which sources."""
