"""The broken runs of lesson 09: two log-probs for one token."""
