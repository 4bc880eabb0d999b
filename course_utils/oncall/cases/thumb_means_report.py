"""The column says who complained."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def as_reports(rows, rng):
    """Votes of a form in which a press on the button is a complaint."""
    return [row | {"liked": not row["liked"]} for row in rows]


CASE = Case(
    id="thumb_means_report",
    level=1,
    template="kto_votes",
    ticket="We listen to our customers now. Five hundred of them have pressed the button, we let "
    "it learn from that for a quarter of a minute, and the desk has fallen silent: nobody gets a "
    "number any more. Rewards and margins in the console are a joy. Is this what people want?",
    faults=(
        Fault(
            title="votes that mean the opposite",
            kind="preference",
            plant=(EditRows("data/votes.jsonl", as_reports),),
            cause="The new form stores whether a reply was reported, so true stands beside silence "
            "and wrong sums: KTO makes likelier what people reported.",
            fix="Take the opposite of each vote.",
            threads=("align-app#3",),
            also_kinds=("labels",),
            also_places=("votes.py to_example", "votes.py load_feedback"),
        ),
    ),
    non_fixes={
        "higher beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.5"),),
        "weights exchanged": (
            Edit("config.yaml", "\nundesirable_weight: 1.0", "\nundesirable_weight: 3.0"),
            Edit("config.yaml", "\ndesirable_weight: 3.0 ", "\ndesirable_weight: 1.0 "),
        ),
    },
)
