"""The training run of each lesson as a function, once the lesson has shown it in full."""
