"""The votes are text, and no text but the empty one is false."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def as_text(rows, rng):
    """Votes as a table program writes them."""
    return [row | {"liked": str(row["liked"])} for row in rows]


CASE = Case(
    id="text_is_always_true",
    level=2,
    template="kto_votes",
    ticket="The page on which people press a thumb was rebuilt in May, and since then our figures "
    "on screen are better than they have ever been. The desk meanwhile has nothing to say to every "
    "second customer, which is the very thing that they complain about. Four hundred of these "
    "complaints are in the folder, so it must have read them.",
    faults=(
        Fault(
            title='"False" read as true',
            kind="labels",
            plant=(EditRows("data/votes.jsonl", as_text),),
            cause='The votes are text, and bool("False") is True: every reply is trained as one '
            "that people liked.",
            fix='Compare with "True", or write true and false into the votes.',
            threads=("teable#1309",),
            also_kinds=("preference", "no_signal", "bad_numbers"),
            also_places=("votes.py to_example", "votes.py load_feedback"),
        ),
    ),
    non_fixes={
        "less for a like": (
            Edit("config.yaml", "\ndesirable_weight: 3.0 ", "\ndesirable_weight: 1.0 "),
        ),
        "higher beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.5"),),
    },
)
