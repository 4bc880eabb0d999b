"""Round 39: 12 broken runs with twins and 6 healthy ones that look odd, by one author."""
