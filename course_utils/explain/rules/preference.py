"""DPO and reward models: margins, accuracies, the start at ln 2."""

import math

from course_utils.explain.finding import Finding
from course_utils.explain.log import Log, finite
from course_utils.explain.numbers import said, share, thirds

LN_2 = math.log(2)


def stuck_at_the_start(log: Log) -> Finding | None:
    """Both rewards 0 and the loss ln 2: policy and reference agree to the last digit."""
    series = log.series("chosen_reward")
    same = [e for e, v in series if v == 0 and e.numbers.get("rejected_reward", 1.0) == 0]
    if not same:
        return None
    losses = [entry.numbers.get("loss", LN_2) for entry in same]
    if max(abs(loss - LN_2) for loss in losses) > 0.01:
        return None
    shown = [n for n in ("chosen_reward", "rejected_reward", "loss") if n in same[0].numbers]
    proof = f"{same[0].where}: {said(same[0], *shown)}"
    if len(same) >= 2 and share(same, series) > 0.9:
        counted = f"{len(same)} of {len(series)} entries are like this"
        return Finding("policy_is_reference", 7.0, same[-1], (proof, counted))
    return Finding("dpo_start", 3.0, same[0], (proof, "only where the run begins"))


def accuracies_of_few_rows(log: Log) -> Finding | None:
    values = log.values("accuracy")
    if len(values) < 4 or set(values) != {0.0, 1.0}:
        return None
    ones = values.count(1.0)
    proof = f"{ones} of {len(values)} accuracies are 1, all others 0"
    return Finding("few_rows", 3.0, log.series("accuracy")[0][0], (proof,))


def pushed_down(log: Log) -> Finding | None:
    """The chosen reward falls, the rejected one falls faster."""
    chosen, rejected = finite(log.values("chosen_reward")), finite(log.values("rejected_reward"))
    if not chosen or not rejected or chosen[-1] >= -0.2 or rejected[-1] >= chosen[-1]:
        return None
    entry = log.series("chosen_reward")[-1][0]
    proof = [
        f"{entry.where}: {said(entry, 'chosen_reward', 'rejected_reward')}; 0 is the reference"
    ]
    if len(chosen) > 1:
        proof.append(f"the chosen reward was {chosen[0]:.3g} in the first entry")
    return Finding("margin_by_pushing_down", 4.0, entry, tuple(proof))


def margin_grows(log: Log) -> Finding | None:
    levels, hits = thirds(log.values("margin")), thirds(log.values("accuracy"))
    if levels is None or levels[2] <= levels[0] or (hits and hits[2] < 0.6):
        return None
    proof = f"the margin grows from {levels[0]:.3g} to {levels[2]:.3g} (first and last third)"
    return Finding("improves", 2.0, log.series("margin")[-1][0], (proof,))


RULES = (stuck_at_the_start, accuracies_of_few_rows, pushed_down, margin_grows)
