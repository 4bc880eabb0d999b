"""Round 43: twelve runs with twins and six odd ones, by one author."""
