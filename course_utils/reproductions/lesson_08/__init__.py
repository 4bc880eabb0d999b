"""The broken runs of lesson 08: a loss that depends on the batch."""
