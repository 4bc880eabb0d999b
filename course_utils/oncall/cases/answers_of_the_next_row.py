"""Two columns were joined with one row in between."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def joined(rows, rng):
    """Questions with the answers of the row before."""
    before = [rows[-1], *rows[:-1]]
    return [row | {"answer": other["answer"]} for row, other in zip(rows, before, strict=True)]


CASE = Case(
    id="answers_of_the_next_row",
    level=2,
    template="rl_loop",
    ticket="Not one point in the whole night, and the replies are perfectly good sums "
    "as far as I can see from the samples. The scoring function has tests and "
    "they are green. We took two thousand fewer questions than last time; maybe "
    "that is too few to learn from?",
    faults=(
        Fault(
            title="answers shifted by one row",
            kind="no_signal",
            plant=(EditRows("data/train.jsonl", joined),),
            cause="Each question has the answer of the row before it, so no reply is ever right.",
            fix="Put the answers back with their questions.",
            threads=("SophiaVL-R1#11", "trl#3098"),
            also_kinds=("bad_numbers", "labels"),
            also_places=("rollout.py reward",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-4", "learning_rate: 3.0e-4"),),
        "wider clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.50 "),),
    },
)
