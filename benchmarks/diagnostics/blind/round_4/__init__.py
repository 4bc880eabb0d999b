"""Round 4: broken, healthy and pasted runs, written blind."""
