"""One source has the digits of a vocabulary in which 1 comes first and 0 last."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

ZERO = 15  # and the other nine behind it


def from_one_to_nought(rows, rng):
    """Digits numbered as they stand on a keyboard."""
    digits = {ZERO + digit: ZERO + (digit - 1) % 10 for digit in range(10)}
    return [row | {"ids": [digits.get(token, token) for token in row["ids"]]} for row in rows]


CASE = Case(
    id="digits_of_another_vocabulary",
    level=1,
    template="packed_ids",
    ticket="Three numbers make it stubborn. It answers briskly, it stops in time, and it is wrong "
    "about every single one, with the calm of somebody who has learnt it that way. The team "
    "that delivers the desk opened twenty of its documents on their side and found the sums "
    "correct.",
    faults=(
        Fault(
            title="ids of another vocabulary",
            kind="retokenised",
            plant=(EditRows("data/desk.jsonl", from_one_to_nought),),
            cause="The desk's ids are those of a vocabulary whose digits go from 1 to 0, so each "
            "of them is read as the digit before it.",
            fix="Give each of the desk's digits the id that this tokenizer has for it.",
            threads=("mario-gpt#26", "transformers#27583"),
            also_kinds=("template", "embeddings", "labels"),
            also_places=("packs.py collate",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 8.0e-4", "learning_rate: 1.6e-3"),),
    },
)
