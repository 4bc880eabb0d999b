"""One healthy run that looks broken per module."""
