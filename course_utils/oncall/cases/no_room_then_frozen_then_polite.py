"""A limit that no pair fits, then a frozen backbone, then chosen replies with a courtesy."""

from course_utils.oncall.cases import body_stands_still, chosen_are_polite, no_pair_fits
from course_utils.oncall.declare import Case, Edit

CASE = Case(
    id="no_room_then_frozen_then_polite",
    level=3,
    template="reward_pairs",
    ticket="We tried to make the judge affordable for the small office, and I fear that "
    "we overdid it. The first thing you will see is not the last. It ought to "
    "end up where the expensive one was in June.",
    faults=(
        *no_pair_fits.CASE.faults,
        *body_stands_still.CASE.faults,
        *chosen_are_polite.CASE.faults,
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 12"),),
        "no centring": (Edit("config.yaml", "center_rewards: 0.01 ", "center_rewards: 0.00 "),),
    },
)
