"""Which rows are trained on: pairs, classes, splits, what a limit leaves of them."""
