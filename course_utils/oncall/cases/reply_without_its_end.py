"""The rows' replies have no end token."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="reply_without_its_end",
    level=1,
    template="own_loop",
    ticket="Customer support keeps sending screenshots: first comes the right sum, then digits "
    "upon digits, until the box is full. Nobody has complained about the arithmetic. Our "
    "frontend people offered to cut it off at the first blank.",
    faults=(
        Fault(
            like="no_end_in_the_rows",
            plant=(
                Edit(
                    "data.py",
                    'reply = row["answer"] + tokenizer.eos_token',
                    'reply = row["answer"].strip()',
                ),
            ),
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 6"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
    },
)
