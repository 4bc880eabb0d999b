"""The broken runs of lesson 04: the policy that says "!!!!"."""
