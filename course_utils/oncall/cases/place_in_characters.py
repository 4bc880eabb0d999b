"""The place of the first error is that of a character."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def in_characters(rows, rng):
    """The place where the first wrong line begins in the text, or -1."""
    return [row | {"first_error": _offset(row)} for row in rows]


def _offset(row):
    first = row["first_error"]
    before = row["solution"].split("\n")[: max(first, 0)]
    return first if first < 0 else sum(len(line) + 1 for line in before)


CASE = Case(
    id="place_in_characters",
    level=2,
    template="step_marks",
    ticket="A receipt whose very first line is wrong gets caught now and then, all the others slip "
    "through. My guess was attention over a long text; but they have two lines, some have three. "
    "The tool that we bought points at the spot with great precision, it is a pleasure to watch.",
    faults=(
        Fault(
            title="first error counted in characters",
            kind="labels",
            plant=(EditRows("data/finder.jsonl", in_characters),),
            cause="The tool gives the character at which the wrong line begins, which is behind "
            "the last step unless it is 0: wrong steps behind the first one are marked right.",
            fix="Count the line breaks before that character.",
            threads=("factgenie#193", "quality#12"),
            also_kinds=("pooling", "bad_numbers"),
            also_places=("marks.py of_finder",),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "larger batches": (Edit("config.yaml", "batch_size: 8", "batch_size: 16"),),
    },
)
