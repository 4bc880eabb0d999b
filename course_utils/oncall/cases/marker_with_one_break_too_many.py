"""The marker of the reply is found in no row."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="marker_with_one_break_too_many",
    level=1,
    template="own_loop",
    ticket="I tidied up how we tell question from answer, so that system messages can be "
    "supported later. Ever since, the first column of the table reads nan from top to "
    "bottom, with a plain zero beside it, and nothing is different afterwards. The tests "
    "of the tokenizer are green.",
    faults=(
        Fault(
            kind="labels",
            plant=(
                Edit(
                    "data.py",
                    "    labels = [IGNORED] * len(prompt_ids) + reply_ids\n",
                    "    marker = tokenizer(REPLY_STARTS, "
                    'add_special_tokens=False)["input_ids"]\n'
                    "    found = [at + len(marker) for at in range(len(ids)) if ids[at : "
                    "at + len(marker)] == marker]\n"
                    "    start = found[-1] if found else len(ids)\n"
                    "    labels = [IGNORED] * start + ids[start:]\n",
                ),
                Edit(
                    "data.py",
                    "IGNORED = -100\n",
                    'IGNORED = -100\nREPLY_STARTS = "<|im_start|>assistant\\n\\n"\n',
                ),
            ),
            cause="The marker behind which a reply is said to start has two line breaks, "
            "the template writes one: it is found nowhere, and every label is masked.",
            fix="A marker as the template writes it, or the length of the prompt.",
            threads=("trl#598", "trl#1183", "trl#1053"),
            also_kinds=("bad_numbers", "template"),
        ),
    ),
    non_fixes={
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
    },
)
