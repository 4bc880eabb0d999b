"""The judge: criteria run here, the student's code runs in another process."""
