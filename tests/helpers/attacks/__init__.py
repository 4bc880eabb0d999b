"""Files that students hand in instead of a notebook, by accident or on purpose."""
