"""The cost of the lessons and of their pages."""
