"""Checks an answer: what an exercise is, how an answer is run, what is compared and said."""
