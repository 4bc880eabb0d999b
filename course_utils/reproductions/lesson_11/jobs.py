"""The four training jobs of lesson 11. Nothing here serves an adapter."""

import copy
from dataclasses import replace

from course_utils.reproductions.lesson_11.adapter_life import HEAD, Trained, train

# What each trains on; the rest is LoraConfig's.
JOBS = {
    "A": {"base": "dense", "task": "plus one"},
    "B": {"base": "dense", "task": "plus one", **HEAD},
    "C": {"base": "4-bit", "task": "plus one"},
    "D": {"base": "mixture", "task": "neighbours"},
}
_trained: dict[str, Trained] = {}


def run(name: str, seed: int, **settings: object) -> Trained:
    """A job, trained once per seed and settings; the model is a copy, for the caller to change."""
    asked = repr((name, seed, sorted(settings.items())))
    if asked not in _trained:
        _trained[asked] = train(seed=seed, **JOBS[name] | settings)
    kept = _trained[asked]
    return replace(kept, model=copy.deepcopy(kept.model))
