"""A reward function that returns None for every reply: it cannot parse the gold answers."""

import math
import re

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, said, values
from course_utils.zoo.arithmetic import is_right


def accuracy(completions, answer, **_columns) -> list[float | None]:
    """Right or not; None where the gold answer has no `#### ` in front of its number."""
    golds = [re.search(r"#### (\d+)", text) for text in answer]
    pairs = zip(said(completions), golds, strict=True)
    return [None if gold is None else float(is_right(reply, gold[1])) for reply, gold in pairs]


def make(variant: Variant, seed: int) -> Run:
    sums = zoo.arithmetic.prompts(256, seed, level="hard")
    if variant != "broken":
        sums = sums.map(lambda row: {"answer": "#### " + row["answer"]})
    return grpo(seed, accuracy, steps=4, dataset=sums)


def shows(run: Run) -> bool:
    rewards = values(run, "reward")
    return all(reward is None or math.isnan(reward) for reward in rewards) and not any(
        values(run, "grad_norm")
    )


INCIDENT = Incident(
    name="gold_not_parsed",
    title="gold answers that the reward cannot parse",
    kind="no_signal",
    says="Loss 0.0, grad_norm 0.0, and the log has no reward at all.",
    cause="The gold answers are not in the format that the reward function parses, so it returns "
    "None for every reply.",
    fix="Write the answers in the format that the parser reads.",
    threads=("open-r1#86", "open-r1#215", "open-r1#293"),
    rebuilt="The reward function is a short one for sums; that it gives None is open-r1's own.",
    make=make,
    shows=shows,
    causes=("no_signal",),
    place="reward",
    lesson="10_reward_up",
)
