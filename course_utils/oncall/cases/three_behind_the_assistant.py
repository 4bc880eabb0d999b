"""Rows cut before the reply, then slipped verdicts, then names in another order."""

from course_utils.oncall.cases.verdicts_of_the_row_before import slipped
from course_utils.oncall.declare import Case, Edit, EditRows, Fault

CASE = Case(
    id="three_behind_the_assistant",
    level=3,
    template="sum_checker",
    ticket="The checker goes live on Monday and is worse than a coin. Two of us have been at it "
    "since the last good release, each with a clean-up of their own, and each of us could swear "
    "that the other one's was harmless. Please leave nothing behind.",
    faults=(
        Fault(
            like="prompt_fills_the_room",
            title="rows cut before their replies",
            plant=(
                Edit(
                    "data.py",
                    '    ids = tokenizer(text, add_special_tokens=False)["input_ids"]\n',
                    '    ids = tokenizer(text, add_special_tokens=False)["input_ids"][:12]\n',
                ),
            ),
            cause="The rows are cut at 12 tokens, before their replies begin.",
            fix="Leave the rows whole.",
            also_places=("data.py encode",),
        ),
        Fault(
            like="answers_of_the_next_row",
            title="verdicts shifted by one row",
            kind="labels",
            plant=(EditRows("data/train.jsonl", slipped),),
            cause="Each row has the verdict of the row before it.",
            fix="Give each reply its own verdict.",
        ),
        Fault(
            title="class names exported in another order",
            kind="labels",
            plant=(
                Edit(
                    "train.py",
                    "        id2label=dict(enumerate(classes)),\n",
                    "        id2label=dict(enumerate(classes[::-1])),\n",
                ),
            ),
            cause="id2label has the names in another order than the rows are numbered in.",
            fix="Number the classes once, for the rows and for the config.",
            threads=("optimum#197", "setfit#462"),
            also_kinds=("metric",),
            also_places=("data.py encode",),
        ),
    ),
)
