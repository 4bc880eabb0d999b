"""An inverted mask at the desk, then small talk without weights, then digits of another vocabulary.

The desk's mask hides both others: with it neither the desk nor small talk is learnt.
"""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case, Edit

ALONE = (
    "weights_the_other_way_round",
    "rare_source_without_weight",
    "digits_of_another_vocabulary",
)

CASE = Case(
    id="three_in_one_delivery",
    level=3,
    template="packed_ids",
    ticket="Christmas came early: all three sources in one delivery, by a job that was written "
    "anew from the first line to the last. Two thirds of what our assistant could do are gone. "
    "We gave it back twice, each time one thing came out mended, and each time the next one was "
    "waiting below.",
    faults=tuple(load(name).faults[0] for name in ALONE),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 8.0e-4", "learning_rate: 1.6e-3"),),
    },
)
