"""The broken runs of lesson 03: a reward model whose loss turns to nan."""
