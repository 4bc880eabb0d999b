"""The broken runs of lesson 01: numbers that leave their format."""
