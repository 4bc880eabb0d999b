"""DPO at its first steps: 0.6931, rewards of 0, and accuracies that a coin would have."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.preferring import dpo_run
from course_utils.incidents.runs import logged


def _holds(run: Run) -> bool:
    losses = logged(run)
    moved = abs(logged(run, "rewards/margins")[-1]) > 1e-3
    return abs(losses[0] - 0.6931) < 1e-4 and moved and run.facts()["right"] > 0.9


LOOK_ALIKE = LookAlike(
    name="dpo_begins_at_ln_2",
    title="DPO loss near ln 2 at the start",
    looks="DPO's loss stays near 0.693 in the first steps, and its margins are nearly 0.",
    because="Policy and reference are equal at the start, where the loss is ln 2; at DPO's small "
    "learning rates they part slowly.",
    threads=("trl#3926", "trl#1627"),
    make=lambda seed: dpo_run(seed=seed),
    holds=_holds,
)
