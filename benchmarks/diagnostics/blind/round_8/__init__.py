"""Round 8: two dozen faults with twins and eight odd healthy runs in one file, written blind."""
