"""Some answers are written as a spreadsheet writes them, and int() refuses them."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def exported(rows, rng):
    """Answers of one row in five as a spreadsheet writes them."""
    chosen = set(rng.sample(range(len(rows)), len(rows) // 5))
    return [r | {"answer": f"{r['answer']}.0"} if at in chosen else r for at, r in enumerate(rows)]


CASE = Case(
    id="answers_from_a_sheet",
    level=1,
    template="grpo_sums",
    ticket="Some mornings it gets to step two, on others to step seven, and then there "
    "is a red page. With the old question file it ran from end to end. The new "
    "one has the same number of lines and opens in any editor; I had it on the "
    "big screen in our weekly and nobody saw anything.",
    faults=(
        Fault(
            title="answers that int() cannot parse",
            kind="bad_numbers",
            plant=(EditRows("data/train.jsonl", exported),),
            cause="Some answers are written as a spreadsheet writes them, and int() raises an "
            "error at the first one drawn.",
            fix="Write them as whole numbers, or parse them.",
            threads=("open-r1#86", "verl#782"),
            also_kinds=("no_signal",),
            also_places=("rewards.py correct",),
        ),
    ),
    non_fixes={
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.04 "),),
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.7"),),
    },
)
