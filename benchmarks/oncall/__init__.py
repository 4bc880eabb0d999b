"""Tickets of the exam: proofs, and programs that try them."""
