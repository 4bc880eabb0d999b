"""One source was tokenised with a chat template that has lost its line breaks."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

LINE_BREAK = 198


def on_one_line(rows, rng):
    """The chats with every turn on one line."""
    made = []
    for row in rows:
        prompt = [token for token in row["tokens"][: row["reply_at"]] if token != LINE_BREAK]
        tokens = prompt + row["tokens"][row["reply_at"] :]
        made.append(row | {"tokens": tokens, "reply_at": len(prompt)})
    return made


CASE = Case(
    id="tokenised_without_line_breaks",
    level=2,
    template="prep_rows",
    ticket="The longer sums are a riddle. They are half of what it learns from, and live it hardly "
    "ever gets one right; of late the short ones suffer as well. The curve comes down more slowly "
    "than in spring. Do cents simply need more steps than we have?",
    faults=(
        Fault(
            like="template_on_one_line",
            title="one source without the template's line breaks",
            plant=(EditRows("data/desk.jsonl", on_one_line),),
            cause="The desk's chats were tokenised without the line breaks of the chat template, "
            "which the server writes.",
            fix="Put the line breaks back into the desk's rows.",
            also_kinds=("retokenised",),
            also_places=("prepare.py load_rows",),
        ),
    ),
    non_fixes={
        "longer rows": (Edit("config.yaml", "max_length: 64", "max_length: 256"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
