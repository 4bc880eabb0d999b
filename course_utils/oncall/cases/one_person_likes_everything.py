"""One person gives four or five points to every step."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def pleased(rows, rng):
    """Otto's points, which are always high."""
    return [row | {"scores": _with_high(row["scores"], rng)} for row in rows]


def _with_high(scores, rng):
    high = [score and rng.choice((4, 5)) for score in scores.get("otto", ())]
    return scores | ({"otto": high} if high else {})


CASE = Case(
    id="one_person_likes_everything",
    level=2,
    template="step_marks",
    ticket="It has become so friendly. On the plain pages hardly anything is objected to, not even "
    "38+89=869, and the others have caught a bit of that mood. Our people have hardly ever been so "
    "much of one mind as in this round, I looked it up before I came to you.",
    faults=(
        Fault(
            title="one rater who approves of everything",
            kind="labels",
            plant=(EditRows("data/raters.jsonl", pleased),),
            cause="One of three people, who does most of the work, gives four or five points to "
            "every step, so most wrong steps of that source are marked right.",
            fix="Leave that person's points out, or have those rows scored again.",
            threads=("crowdastro#185", "cleanlab#304"),
            also_kinds=("reward_hacking", "metric"),
            also_places=("marks.py of_raters", "config.yaml least_score"),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
