"""The wrong steps were made by a script, which writes decimals."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def by_script(rows, rng):
    """Steps whose wrong answers a script has put in, as it writes them."""
    return [row | {"steps": [_written(step) for step in row["steps"]]} for row in rows]


def _written(step):
    question, _, answer = step.partition("=")
    is_right = sum(map(int, question.split("+"))) == int(answer)
    return step if is_right else f"{step}.0"


CASE = Case(
    id="wrong_steps_in_decimals",
    level=2,
    template="step_marks",
    ticket="In rehearsal it found every planted blunder among the long additions, after a few "
    "minutes already. Customers blunder as well, and those it praises. Are theirs too subtle, or "
    "is ours too small?",
    faults=(
        Fault(
            title="format gives the wrong steps away",
            kind="reward_hacking",
            plant=(EditRows("data/rollouts.jsonl", by_script),),
            cause="A script has put the wrong answers in and writes them as decimals, so a point "
            "and a zero tell them apart and nothing is added up.",
            fix="Write all answers alike: cut the point and the zero off.",
            threads=("rlhf-book#513",),
            also_kinds=("labels", "length_bias"),
            also_places=("marks.py of_rollouts", "data.py encode"),
        ),
    ),
    non_fixes={
        "weight decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
