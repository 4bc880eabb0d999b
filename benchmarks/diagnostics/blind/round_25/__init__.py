"""Round 23: twenty faults with twins and six odd healthy runs in one file, written blind."""
