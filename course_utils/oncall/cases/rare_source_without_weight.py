"""The weights of the rarest source are all 0."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def without_weight(rows, rng):
    """Weights of a job that found no reply."""
    return [row | {"weights": [0] * len(row["weights"])} for row in rows]


CASE = Case(
    id="rare_source_without_weight",
    level=2,
    template="packed_ids",
    ticket="For the first time in months both kinds of sum are better than the time before, and I "
    "had the cake ordered. Then a guest said hello to it and did not get the dash. Nor did "
    "anybody else. It is a small part of what we feed it, I know, but it had never once gone "
    "wrong.",
    faults=(
        Fault(
            title="all loss weights of a rare source 0",
            kind="labels",
            plant=(EditRows("data/talk.jsonl", without_weight),),
            cause="All weights of the small talk are 0, so it is read and never trained.",
            fix="Give the replies of the small talk their weights, from behind the line break "
            "that opens them to the end token.",
            threads=("liquid-finetune#37", "trl#4201"),
            also_places=("train.py weighted_loss",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 8.0e-4", "learning_rate: 1.6e-3"),),
    },
)
