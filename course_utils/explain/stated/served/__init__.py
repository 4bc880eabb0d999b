"""What is saved, merged and served, and with which prompt."""
