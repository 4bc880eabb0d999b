"""The replies of the pairs begin with the question."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def _whole_lines(rows, rng):
    """The replies with the question in front, as older exports have them."""
    return [
        row | {key: f"{row['question']}{row[key]}" for key in ("chosen", "rejected")}
        for row in rows
    ]


CASE = Case(
    id="question_asked_twice",
    level=2,
    template="dpo_digits",
    ticket="The archive of old comparisons was too good to be left unused, so I converted it. "
    "Nothing ends in an error and nothing is flat. In the hands of users: no better than "
    "before the job, maybe a shade worse. Does the optimiser remember only what it is shown?",
    faults=(
        Fault(
            title="replies repeat the question",
            kind="preference",
            plant=(EditRows("data/pairs.jsonl", _whole_lines),),
            cause="The replies begin with the question, which the prompt already contains, so "
            "the pairs are ranked after another prefix.",
            fix="Remove the question from the replies.",
            threads=("trl#5213", "trl#6105"),
            also_kinds=("template",),
            also_places=("data.py to_pair",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 6.0e-4"),),
        "a lower beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.05"),),
    },
)
