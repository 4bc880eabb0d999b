"""Measurements on a run that leave it as it was."""
