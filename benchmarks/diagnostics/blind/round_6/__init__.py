"""Round 6: broken, healthy and pasted runs, written blind."""
