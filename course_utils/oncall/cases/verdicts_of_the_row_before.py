"""Verdicts that have slipped by a row."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def slipped(rows, _random):
    """Each verdict is that of the row before, as after a join by position."""
    verdicts = [row["verdict"] for row in rows]
    moved = [verdicts[-1], *verdicts[:-1]]
    return [row | {"verdict": verdict} for row, verdict in zip(rows, moved, strict=True)]


CASE = Case(
    id="verdicts_of_the_row_before",
    level=2,
    template="sum_checker",
    ticket="We have better people on the judging now and merged their sheet with ours. The "
    "checker has lost its confidence since: it sits on the fence, and where it does decide it "
    "says what is more common. The judges are offended, and I have read fifty of their rows.",
    faults=(
        Fault(
            like="answers_of_the_next_row",
            title="verdicts shifted by one row",
            kind="labels",
            plant=(EditRows("data/train.jsonl", slipped),),
            cause="Each row has the verdict of the row before it: two files were joined by "
            "position.",
            fix="Give each reply its own verdict, or leave out the rows where it is wrong.",
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
    },
)
