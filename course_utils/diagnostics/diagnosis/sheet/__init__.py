"""What the looks write on: findings, what is fine, what was not seen, and on what run."""
