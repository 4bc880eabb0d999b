"""What the lessons and their pages cost."""
