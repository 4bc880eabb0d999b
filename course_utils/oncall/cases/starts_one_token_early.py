"""Each document starts one token early, so its end belongs to the next one."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def one_early(rows, rng):
    """Starts that are counted without the token before them."""
    return [row | {"starts": [max(0, start - 1) for start in row["starts"]]} for row in rows]


CASE = Case(
    id="starts_one_token_early",
    level=2,
    template="packed_ids",
    ticket="It never comes to a point. Hello, two numbers, three numbers: whatever you say to it, "
    "it talks until it is cut off, in the demo as well as here. And this after the calmest run "
    "of the year, with the lowest curve on the wall!",
    faults=(
        Fault(
            title="document starts one token early",
            kind="packing",
            plant=(
                EditRows("data/till.jsonl", one_early),
                EditRows("data/desk.jsonl", one_early),
                EditRows("data/talk.jsonl", one_early),
            ),
            cause="Each start is one token early, so a document's end belongs to the next "
            "document, is the first token there, and a first token is never trained.",
            fix="Add one to each start but the first of a pack.",
            threads=("evabyte#10", "Megatron-LM#5298"),
            also_kinds=("never_stops", "labels"),
            also_places=("packs.py documents_of", "train.py weighted_loss"),
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 12"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
