"""Pictures of ideas, a module for each lesson: a function shows one picture that says one thing."""
