"""Round 47: twelve runs with twins and six odd ones, by one author."""
