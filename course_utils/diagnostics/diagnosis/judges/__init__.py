"""What the numbers of the steps say: rates, rewards, policies, resumed runs."""
