"""The broken runs of lesson 02: GRPO dies of a floating point exception."""
