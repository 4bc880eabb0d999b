"""What is pasted: lines, entries with numbers, settings and sentences."""
