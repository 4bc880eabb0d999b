"""The rollouts that fail are counted, and not those that end well."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def failed(rows, rng):
    """How many of eight rollouts fail."""
    return [row | {"wins": [8 - wins for wins in row["wins"]]} for row in rows]


CASE = Case(
    id="failures_for_wins",
    level=1,
    template="step_marks",
    ticket="Our little sceptic has turned into a contrarian. Long additions: what is sound it "
    "throws out, what is absurd it lets through, as reliably as a clock. Flip its answer and you "
    "would have a fine product, were it not for the short ones, where it still behaves.",
    faults=(
        Fault(
            title="failures counted in place of successes",
            kind="labels",
            plant=(EditRows("data/rollouts.jsonl", failed),),
            cause="The column counts the rollouts that fail, so a step with many is wrong and is "
            "marked right.",
            fix="Take the number from eight.",
            threads=("OpenRLHF#510", "UltraFeedback#8"),
            also_kinds=("preference", "reward_hacking", "metric"),
            also_places=("marks.py of_rollouts", "config.yaml least_wins"),
        ),
    ),
    non_fixes={
        "weight decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
