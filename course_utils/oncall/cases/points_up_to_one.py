"""The points are shares of the highest one, and three are asked for."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def as_shares(rows, rng):
    """Points as shares of the highest one."""
    return [row | {"scores": _shares(row["scores"])} for row in rows]


def _shares(scores):
    return {person: [score and score / 5 for score in given] for person, given in scores.items()}


CASE = Case(
    id="points_up_to_one",
    level=1,
    template="step_marks",
    ticket="Nobody can please it any more on the simplest pages of all, two numbers and a plus: "
    "everything is an error. A month ago this was its best subject. What changed is that "
    "statistics cleaned the votes for us, and they know what they are doing.",
    faults=(
        Fault(
            title="normalised scores below every threshold",
            kind="labels",
            plant=(EditRows("data/raters.jsonl", as_shares),),
            cause="The scores were divided by the highest one, so none reaches the three that are "
            "asked for and all steps of that source are marked wrong.",
            fix="Multiply the scores by five, or ask for 0.6.",
            threads=("AlphaLLM#1", "O1-CODER#3"),
            also_kinds=("metric", "no_signal", "bad_numbers"),
            also_places=("marks.py of_raters", "config.yaml least_score"),
        ),
    ),
    non_fixes={
        "weight decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
