"""Round 49: twelve runs with twins and six odd ones, by one author."""
