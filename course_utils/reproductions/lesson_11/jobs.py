"""The four training jobs of lesson 11. Nothing here serves an adapter."""

from functools import cache

from course_utils.reproductions.lesson_11.adapter_life import HEAD, Trained, train

# What each trains on; the rest is LoraConfig's.
JOBS = {
    "A": {"base": "dense", "task": "plus one"},
    "B": {"base": "dense", "task": "plus one", **HEAD},
    "C": {"base": "4-bit", "task": "plus one"},
    "D": {"base": "mixture", "task": "neighbours"},
}


@cache
def run(name: str, seed: int) -> Trained:
    """A job, trained once per seed; who changes the model takes a copy."""
    return train(seed=seed, **JOBS[name])
