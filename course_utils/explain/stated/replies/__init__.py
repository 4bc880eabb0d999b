"""What a policy samples and is paid for: groups, references, rewards, replies cut out."""
