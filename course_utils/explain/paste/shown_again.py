"""Entries that show again what a log has said: the summary of a run, a table of its steps."""

import math
import re
from dataclasses import replace

from course_utils.explain.paste.entries import NO_METRIC, Entry

EVALUATED = ("loss", "accuracy")  # names that get "eval_" before them
_OF_TRACKER = re.compile(r"^\s*wandb:\s")
ROUNDED = 5e-3  # of a number that is shown again with fewer digits


def is_summary(entry: Entry, summary: Entry | None) -> bool:
    """Whether an entry sums up a whole run, or says its train_loss again, as a tracker does."""
    if entry.sums_up or summary is None or entry.names.get("loss") != "train_loss":
        return entry.sums_up
    one, other = entry.numbers["loss"], summary.numbers.get("loss", math.nan)
    same = math.isclose(one, other, rel_tol=ROUNDED)
    return summary.names.get("loss") == "train_loss" and same


def is_shown_again(entry: Entry, entries: list[Entry]) -> bool:
    """Whether an entry is one of these under other names, as a table of a run shows it."""
    step = entry.numbers.get("step")
    old = next((e for e in entries if step and e.numbers.get("step") == step), None)
    if old is None:
        return False
    shared = old.numbers.keys() & entry.numbers.keys() - NO_METRIC
    is_renamed = any(old.names[name] != entry.names[name] for name in shared)
    pairs = ((old.numbers[name], entry.numbers[name]) for name in shared)
    return is_renamed and all(math.isclose(*pair, rel_tol=ROUNDED) for pair in pairs)


def are_shown_again(entries: list[Entry], later: list[Entry]) -> bool:
    """Whether all of these are among those that follow, as a progress bar above a log file."""
    return bool(entries) and all(is_shown_again(one, later) for one in entries)


def is_below_a_summary(entry: Entry, entries: list[Entry]) -> bool:
    """Whether all entries before one are the summary that a tracker prints, and it is none."""
    told = all(_OF_TRACKER.match(one.text) for one in entries)
    return told and not _OF_TRACKER.match(entry.text)


def as_evaluation(entry: Entry) -> Entry:
    """The entry with its loss and accuracy as those of an evaluation.

    >>> as_evaluation(Entry("line 9", "", {"step": 5.0, "loss": 0.6})).numbers
    {'step': 5.0, 'eval_loss': 0.6}
    """

    def renamed(some: dict) -> dict:
        return {f"eval_{name}" if name in EVALUATED else name: one for name, one in some.items()}

    return replace(entry, numbers=renamed(entry.numbers), names=renamed(entry.names))
