"""Declarations that several eras share. Facts are what scripts/NN_name.py prints."""

import math

from course_utils.reproductions.eras.declare import Change

TINY_MODEL = Change("Qwen2.5-0.5B-Instruct", "MODEL", "the course's tiny Qwen2")
ON_CPU = Change("a GPU", "use_cpu=True", "no GPU needed")
QUIET = Change("the reporter's logs", "disable_tqdm=True", "prints less, computes the same")
RENAMED = Change("torch_dtype=", "dtype=", "renamed in transformers 5")


def finite(numbers: list[float]) -> bool:
    """
    >>> finite([1.0, math.nan])
    False
    """
    return all(map(math.isfinite, numbers))


def listed(numbers: list[float]) -> str:
    """
    >>> listed([1.2125e34, 0.0])
    '1.21e+34, 0'
    """
    return ", ".join(f"{number:.3g}" for number in numbers)
