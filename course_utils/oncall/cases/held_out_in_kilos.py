"""The held-out answers are in kilos, which only the first checkpoints give."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def in_kilos(rows, rng):
    """Answers as the scales gave them at first."""
    return [row | {"answer": row["answer"].removesuffix("000")} for row in rows]


CASE = Case(
    id="held_out_in_kilos",
    level=2,
    template="choose_checkpoint",
    ticket="Eighty percent, our best figure this year, and then the complaints: every amount is "
    "a thousand times too small. Did the training go backwards? What it was taught in the "
    "middle of the year is simply not there.",
    faults=(
        Fault(
            title="held-out answers in another unit",
            kind="metric",
            plant=(EditRows("data/held_out.jsonl", in_kilos),),
            cause="The held-out answers are in kilos, where the model is to answer in grams, so "
            "a checkpoint of the months in kilos scores best and is exported.",
            fix="Write the held-out answers in grams.",
            threads=("helm#2939", "CONQUER#3"),
            also_kinds=("labels", "stale_weights"),
            also_places=("evaluate.py measured", "evaluate.py held_out"),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("task.yaml", "max_length: 48", "max_length: 96"),),
        "compared by their loss": (
            Edit("config.yaml", "metric_for_best: exact_match", "metric_for_best: loss"),
            Edit("config.yaml", "greater_is_better: true", "greater_is_better: false"),
        ),
    },
)
