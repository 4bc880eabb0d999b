"""The four training jobs of lesson 11. Nothing here serves an adapter."""

import copy
from collections.abc import Iterable
from dataclasses import replace

from course_utils.reproductions.lesson_11.adapter_life import HEAD, Trained, begun, side_by_side

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
    [job] = run_all([(name, seed)], **settings)
    return job


def run_all(asked: Iterable[tuple[str, int]], **settings: object) -> list[Trained]:
    """Jobs by name and seed, as `run` gives them; those that are new are trained two at a time."""
    keys = {repr((*job, sorted(settings.items()))): job for job in asked}
    new = {key: JOBS[name] | settings | {"seed": seed} for key, (name, seed) in keys.items()}
    new = {key: begun(**job) for key, job in new.items() if key not in _trained}
    _trained.update(zip(new, side_by_side(new.values()), strict=True))
    return [replace(job, model=copy.deepcopy(job.model)) for job in map(_trained.get, keys)]
