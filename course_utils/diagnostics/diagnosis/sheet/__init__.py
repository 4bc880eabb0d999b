"""The sheet that looks write on: findings, what is fine, what was not seen, and the run itself."""
