"""Padding is the end token, and the collator masks every label that is padding."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="labels_by_id",
    level=1,
    template="own_loop",
    ticket="The numbers come out fine, but the demo is unusable: the assistant gives the answer "
    "and "
    "then goes on talking until the limit. The loss looks as smooth as last week's. We thought "
    "the demo's limit was too high and lowered it; now long answers are cut as well.",
    faults=(
        Fault(
            like="pad_is_eos",
            plant=(
                Edit(
                    "train.py",
                    'tokenizer = AutoTokenizer.from_pretrained(cfg["model"])\n    rows',
                    'tokenizer = AutoTokenizer.from_pretrained(cfg["model"])\n'
                    "    tokenizer.pad_token = tokenizer.eos_token\n    rows",
                ),
                Edit(
                    "data.py",
                    'batch["labels"].append(labels + [IGNORED] * gap)',
                    "row = labels + [pad_id] * gap\n"
                    '        batch["labels"].append([IGNORED if i == pad_id else i for i in row])',
                ),
            ),
            enough=(1, 2),  # no end is padding, or no label is masked by its id
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 8"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
