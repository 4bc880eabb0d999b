"""Round 5: broken, healthy and pasted runs, written blind."""
