"""The broken runs of lesson 07: a model that never stops."""
