"""The broken runs of lesson 05: Gemma 3 in fp16."""
