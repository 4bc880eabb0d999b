"""The broken runs of lesson 06: a missing grad_fn."""
