"""The rows of one source end in the base's end of text, those of the other in the end of a turn."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

END_OF_TEXT = 317  # <|endoftext|>


def ended(rows, rng):
    """Chats that another tokenizer has ended."""
    return [row | {"tokens": [*row["tokens"][:-1], END_OF_TEXT]} for row in rows]


CASE = Case(
    id="desk_ends_in_another_token",
    level=1,
    template="prep_rows",
    ticket="Ask for a price and you get it, to the cent, and then whatever else is on its mind, "
    "sometimes a second price. With the plain questions from the sheet it happens now and then "
    "too. Everyone praises the arithmetic and nobody can stand the chatter.",
    faults=(
        Fault(
            title="another end token in one source",
            kind="never_stops",
            plant=(EditRows("data/desk.jsonl", ended),),
            cause="The desk's rows end in <|endoftext|>, where the server and the sheet's rows end "
            "a turn with <|im_end|>.",
            fix="End every row with the tokenizer's end token.",
            threads=("trl#3299", "ms-swift#3113"),
            also_kinds=("template",),
            also_places=("prepare.py load_rows", "train.py export"),
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 8"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
