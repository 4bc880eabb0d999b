"""Watchers of a training run: its batches, its steps, its replies, its sampler."""
