"""Round 7: forty faults with twins in one file, written blind."""
