"""Runs the proofs of the course, and watches over such runs."""
