"""In one source the padding token stands where a reply ends."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

PADDING, END = 317, 319


def padded_ends(rows, rng):
    """Documents whose last token was taken for padding."""
    made = []
    for row in rows:
        ids = list(row["ids"])
        for end in [*row["starts"][1:], len(ids)]:
            ids[end - 1] = PADDING if ids[end - 1] == END else ids[end - 1]
        made.append(row | {"ids": ids})
    return made


CASE = Case(
    id="end_written_as_padding",
    level=1,
    template="packed_ids",
    ticket="Nobody at the till is served any more. What it says there trails off into signs that "
    "our screen does not show, and a sum that needs three tokens is billed with more. At the "
    "desk and in small talk it behaves. The archive was tidied up in between, by somebody "
    "careful.",
    faults=(
        Fault(
            title="padding token in place of the end token",
            kind="never_stops",
            plant=(EditRows("data/till.jsonl", padded_ends),),
            cause="The till's documents end in the padding token, and at the server a reply ends "
            "with <|im_end|>.",
            fix="Write <|im_end|> at the end of each document of the till.",
            threads=("ludwig#3945", "lit-llama#329"),
            also_kinds=("template",),
            also_places=("packs.py collate",),
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 12"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
