"""What students hand in, by accident or on purpose, instead of a notebook."""
