"""GRPO scripts written by hand; none makes its policy better, and some make it worse.

A script is made of named parts, small functions that `fresh` can replace. Nothing here is judged.
"""

import json
import re

from course_utils import zoo
from course_utils.reproductions import reported_script
from course_utils.reproductions.lesson_10.reward_up import Run, train
from course_utils.reproductions.reported_script import Parts
from course_utils.shown.report import Table

NUM_STEPS = 12
CAUSES = {
    "a": "every reply earns the same, except for rounding",
    "b": "the answers that the reward gets belong to other sums",
    "c": "saying nothing earns more than an attempt",
    "d": "a reply with several answers is paid",
    "e": "replies are truncated before they can be right",
    "f": "the learning rate is too small to change anything",
    "g": "all groups are solved already",
}


# --- the parts: one script, in which one part or another is at fault --------------------------


def reward(reply, gold):
    """What a reply earns."""
    return 1.0 if reply.strip() == gold else 0.0


def reward_by_distance(reply, gold):
    """What a reply earns."""
    found = re.findall(r"[0-9]+", reply)
    if not found:
        return 0.0
    return -abs(int(found[-1]) - int(gold)) / max(int(gold), 1)


def reward_from_json(reply, gold):
    """What a reply earns."""
    try:
        return 1.0 if json.loads(reply)["answer"] == int(gold) else 0.0
    except (KeyError, TypeError, ValueError):
        return 0.35


def settings():
    """What GRPOConfig is given."""
    return {"learning_rate": 1e-4, "max_completion_length": 8, "temperature": 1.0}


def settings_for_speed():
    """What GRPOConfig is given."""
    return {"learning_rate": 1e-4, "max_completion_length": 2, "temperature": 1.0}


def sums(n, seed):
    """What the policy is asked, with the answers that the reward is given."""
    return zoo.arithmetic.prompts(n, seed, level="hard")


HEALTHY: Parts = {"reward": reward, "settings": settings, "sums": sums}


class Ticket(reported_script.Ticket):
    """A GRPO script with its reward, its settings and its sums."""

    causes = CAUSES
    imports = ("import json", "import re", "", "from course_utils import zoo")

    def run(self, parts: Parts, seed: int) -> "Script":
        return Script(parts, seed)


class Script:
    """One run of a script: `train` it, then look at `.run` and print it."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self._parts, self._seed = parts, seed
        self.run: Run | None = None

    def train(self) -> "Script":
        self.run = train(
            self._parts["reward"],
            seed=self._seed,
            every=NUM_STEPS // 2,
            dataset=self._parts["sums"](128, self._seed),
            max_steps=NUM_STEPS,
            **self._parts["settings"](),
        )
        return self

    @property
    def log(self) -> Table:
        """What GRPOTrainer logged of every second step."""
        shown = ("reward", "reward_std", "zero_std", "grad_norm", "length", "cut")
        log = self.run.log
        rows = [
            (str(step + 1), *(f"{log[name][step]:.2g}" for name in shown))
            for step in range(0, NUM_STEPS, 2)
        ]
        return Table(columns=("step", *shown), rows=rows)


def silence_is_golden() -> Ticket:
    """A dense reward that only an attempt can lose."""
    report = (
        "A colleague replaced the 0-1 reward by a dense one, so that near misses also count. The\n"
        "reward rises to its best possible value, 0. Users say that the answers got worse."
    )
    return Ticket(report, HEALTHY | {"reward": reward_by_distance})


def no_room() -> Ticket:
    """A limit at which hardly any reply can be right."""
    report = (
        "This script was made faster last week. Its reward is almost 0 from the first step to\n"
        "the last, though the served policy gets two sums of three right."
    )
    return Ticket(report, HEALTHY | {"settings": settings_for_speed})


def last_years_average() -> Ticket:
    """An exception that is paid."""
    report = (
        "The reward stays at a solid average for the whole run, without a spike. Some users say\n"
        "that the answers got worse, some do not; it depends on the seed."
    )
    return Ticket(report, HEALTHY | {"reward": reward_from_json})
