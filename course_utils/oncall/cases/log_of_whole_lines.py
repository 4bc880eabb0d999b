"""The log has the question in front of each reply."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def whole_lines(rows, rng):
    """Replies as the screen shows them, behind their question."""
    return [row | {"said": f"{row['asked']}{row['said']}"} for row in rows]


CASE = Case(
    id="log_of_whole_lines",
    level=2,
    template="kto_votes",
    ticket="Operations store it in a way that is easier to read now, and everybody is grateful. I "
    "have gone through a hundred lines and would have pressed the same thumb each time. The desk "
    "that comes out is worse at it than the one that went in.",
    faults=(
        Fault(
            like="question_asked_twice",
            plant=(EditRows("data/log.jsonl", whole_lines),),
            cause="What the log calls the reply begins with the question, which the prompt "
            "already contains: the vote trains a completion that the desk never gives.",
            also_kinds=("template",),
            also_places=("votes.py to_example", "votes.py load_feedback"),
        ),
    ),
    non_fixes={
        "less for a like": (
            Edit("config.yaml", "\ndesirable_weight: 3.0 ", "\ndesirable_weight: 1.5 "),
        ),
        "longer rows": (Edit("config.yaml", "max_length: 64", "max_length: 256"),),
    },
)
