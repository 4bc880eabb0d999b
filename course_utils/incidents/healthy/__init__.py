"""One healthy run that looks broken a module."""
