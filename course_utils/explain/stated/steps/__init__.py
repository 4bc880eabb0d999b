"""What a step does: the loss, the optimizer, the schedule, a resume, several processes."""
