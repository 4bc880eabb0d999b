"""How figures are finished, checked, described and shown; lessons draw with `plotting`."""
