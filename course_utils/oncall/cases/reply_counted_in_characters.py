"""One source says in characters where a reply begins, and it is read as a number of tokens."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

LENGTHS = {318: 12, 319: 10, 286: 4, 289: 9}  # of the tokens that are longer than a character


def counted(rows, rng):
    """Where the reply begins in the text."""
    prompts = [row["tokens"][: row["reply_at"]] for row in rows]
    lengths = [sum(LENGTHS.get(token, 1) for token in prompt) for prompt in prompts]
    return [row | {"reply_at": length} for row, length in zip(rows, lengths, strict=True)]


CASE = Case(
    id="reply_counted_in_characters",
    level=1,
    template="prep_rows",
    ticket="Half of our material is new this month, and the result is about as good as the old one "
    "at what that could do. Of the new half nothing has stuck, not even that a price has "
    "cents. They are read, I can see them counted at the start, and those who made them promise "
    "that they are flawless.",
    faults=(
        Fault(
            title="all labels of one source masked",
            kind="labels",
            plant=(EditRows("data/desk.jsonl", counted),),
            cause="reply_at counts characters in the desk's rows, so it lies behind their last "
            "token and no token of theirs is a label.",
            fix="Count the tokens of the prompt.",
            threads=("unsloth#2095", "NeMo-Aligner#57"),
            also_places=("prepare.py labelled",),
        ),
    ),
    non_fixes={
        "longer rows": (Edit("config.yaml", "max_length: 64", "max_length: 256"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
