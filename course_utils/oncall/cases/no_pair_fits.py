"""All pairs are longer than the limit, and are dropped."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="no_pair_fits",
    level=1,
    template="reward_pairs",
    ticket="Since the budget round it says that there is nothing to do, and it is not "
    "very polite about it. There are more than six hundred rows, I counted them "
    "with wc, and the first of them is even printed.",
    faults=(
        Fault(
            title="max_length shorter than every pair",
            kind="labels",
            plant=(Edit("config.yaml", "max_length: 64", "max_length: 12"),),
            cause="Pairs longer than max_length are dropped, and every pair is longer.",
            fix="Raise max_length so that the pairs fit.",
            threads=("trl#6668", "trl#6320"),
        ),
    ),
    non_fixes={
        "no warm-up": (Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 0"),),
        "no centring": (Edit("config.yaml", "center_rewards: 0.01 ", "center_rewards: 0.00 "),),
    },
)
