"""DPO in which chosen and rejected replies both lose a little, and the model stays as good."""

from statistics import fmean

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.preferring import PAIRS, dpo_run
from course_utils.incidents.runs import logged
from course_utils.zoo import arithmetic

NUM_STEPS = 30


def _make(seed: int) -> Run:
    pairs = arithmetic.preferences(NUM_STEPS * PAIRS, seed)
    return dpo_run(seed=seed, pairs=pairs, max_steps=NUM_STEPS, learning_rate=1e-4)


def _holds(run: Run) -> bool:
    chosen, rejected = (
        fmean(logged(run, f"rewards/{side}")[NUM_STEPS // 2 :]) for side in ("chosen", "rejected")
    )
    return rejected < chosen < 0 and run.facts()["right"] > 0.9


LOOK_ALIKE = LookAlike(
    name="both_logps_fall_a_little",
    title="both rewards of DPO below 0",
    looks="rewards/chosen and rewards/rejected are both below 0, and the margin grows.",
    because="The loss of DPO is about the gap alone; while the chosen replies stay the likeliest, "
    "a small loss of both harms nothing.",
    threads=("eric-mitchell/direct-preference-optimization#8", "trl#800"),
    make=_make,
    holds=_holds,
)
