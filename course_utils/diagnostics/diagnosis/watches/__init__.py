"""What rides along with a training: batches, steps, replies, the sampler."""
