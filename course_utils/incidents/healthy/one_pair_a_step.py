"""DPO with one pair a step: accuracies are 0 or 1 and the loss jumps."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.preferring import dpo_run
from course_utils.incidents.runs import logged


def _holds(run: Run) -> bool:
    seen = set(logged(run, "rewards/accuracies"))
    return seen <= {0.0, 1.0} and run.facts()["right"] > 0.9


LOOK_ALIKE = LookAlike(
    name="one_pair_a_step",
    title="accuracy only 0 or 1 with one pair per step",
    looks="rewards/accuracies is only ever 0.0 or 1.0.",
    because="Each entry is one pair, whose accuracy can be nothing else.",
    threads=("LLaMA-Factory#5778",),
    make=lambda seed: dpo_run(seed=seed, per_device_train_batch_size=1, max_steps=30),
    holds=_holds,
)
