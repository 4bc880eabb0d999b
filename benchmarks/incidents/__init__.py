"""Every broken run, its twin and its fix over three seeds."""
