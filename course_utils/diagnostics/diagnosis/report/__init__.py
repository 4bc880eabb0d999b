"""From findings to text: ranking, fixes in the run's own settings, layout."""
