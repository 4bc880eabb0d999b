"""The rate of a linear probe on a whole network."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rate_of_a_probe",
    level=1,
    template="reward_pairs",
    ticket="One model of the pair series is mad: whomever one asks it about, it says the "
    "same number to the last digit, for the winner and for the loser. Its siblings were set up "
    "by the same person on one afternoon. Could a cosmic ray do that?",
    faults=(
        Fault(
            like="rate_5e_2",
            plant=(Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 3.0e-1"),),
            fix="Use a thousandth of the learning rate.",
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 12"),),
        "cosine": (Edit("config.yaml", "scheduler: linear", "scheduler: cosine"),),
    },
)
