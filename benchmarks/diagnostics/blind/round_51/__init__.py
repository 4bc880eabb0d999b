"""Round 51: twelve runs with twins and six odd ones, by one author."""
