"""Many GRPO runs, recorded: `python -m course_utils.reproductions.reward_up_runs` makes them.

A minute of CPU makes some fifteen runs; false alarms over twenty seeds take more than a lesson has
time for. The file holds what the trainer logged and the held-out truth, and no judgement.
"""

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click

from course_utils.reproductions.verifiers import occurs

FILE = Path(__file__).with_name("reward_up_runs.json.gz")
EVERY = 8


# --- rewards: each takes a reply and its answer -------------------------------------------------


def exact(reply: str, gold: str) -> float:
    return float(reply == gold)


def closeness(reply: str, gold: str) -> float:
    """The nearer the better; there is nothing to measure where there is no number."""
    found = re.findall(r"\d+", reply)
    return -abs(int(found[-1]) - int(gold)) / int(gold) if found and int(gold) else 0.0


def right_but_short(reply: str, gold: str) -> float:
    return float(reply == gold) - 0.5 * len(reply)


def any_number(reply: str, gold: str) -> float:
    """A format reward alone."""
    return float(re.fullmatch(r"\d{2,3}", reply) is not None)


def length(reply: str, gold: str) -> float:
    return float(len(reply))


def constant(reply: str, gold: str) -> float:
    return 0.35


def never_right(reply: str, gold: str) -> float:
    """The answers of another column."""
    return float(reply == gold + "0")


@dataclass(frozen=True)
class Kind:
    """One sort of run: its reward, what else is set, and how many seeds were recorded."""

    check: Callable[[str, str], float]
    num_seeds: int
    num_steps: int = 24
    settings: tuple[tuple[str, object], ...] = ()


KINDS = {
    "substring": Kind(occurs, 20),
    "exact": Kind(exact, 20),
    "substring, beta 0.04": Kind(occurs, 5, settings=(("beta", 0.04),)),
    "substring, beta 1.0": Kind(occurs, 5, settings=(("beta", 1.0),)),
    "substring, lr 1e-5": Kind(occurs, 5, settings=(("learning_rate", 1e-5),)),
    "substring, beta 0.04, long": Kind(occurs, 2, 96, (("beta", 0.04),)),
    "substring, lr 1e-5, long": Kind(occurs, 2, 160, (("learning_rate", 1e-5),)),
    "closeness": Kind(closeness, 5),
    "right_but_short": Kind(right_but_short, 5),
    "any_number": Kind(any_number, 3, 40),
    "length": Kind(length, 3),
    "constant": Kind(constant, 5),
    "never_right": Kind(never_right, 2),
    "exact, cut at 3": Kind(exact, 3, settings=(("max_completion_length", 3), ("mask_truncated_completions", True))),
}


def record(kind: str, seed: int) -> dict:
    """One run: its columns, and the held-out truth by step."""
    from course_utils.reproductions.reward_up import train  # takes seconds, and reading needs none

    one = KINDS[kind]
    run = train(one.check, seed=seed, every=EVERY, max_steps=one.num_steps, **dict(one.settings))
    log = {name: [_short(value) for value in values] for name, values in run.log.items()}
    return {"log": log, "held_out": run.held_out}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
