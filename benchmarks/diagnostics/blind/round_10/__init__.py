"""Round 10: twenty-four faults with twins and eight odd healthy runs in one file, written blind."""
