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
            like="marker_not_found",
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
            enough=(1,),
            cause="The response marker has two line breaks but the template writes one, so it is "
            "never found and every label is masked.",
            fix="Use the marker that the template writes, or the length of the prompt.",
            also_kinds=("bad_numbers", "template"),
        ),
    ),
    non_fixes={
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
    },
)
