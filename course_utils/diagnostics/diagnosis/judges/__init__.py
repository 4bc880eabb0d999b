"""Judge the numbers of a run's steps: rates, rewards, policies, resumed runs."""
