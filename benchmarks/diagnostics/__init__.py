"""How often `diagnose` names the cause, and what the instruments cost."""
