"""The classes are trained behind a turn that was opened after the reply, and served without it."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="trained_behind_an_open_turn",
    level=2,
    template="sum_checker",
    ticket="Its curve is the best we ever had, and on its own rows, sent through the collator, it "
    "makes one mistake in twenty. Live it lets nearly every wrong sum pass. So the customers must "
    "write other sums than we do, only theirs look just like ours to me. Shall we ask for a "
    "thousand of them?",
    faults=(
        Fault(
            title="classes read behind an open turn in training only",
            kind="pooling",
            plant=(
                Edit(
                    "data.py",
                    "    text = tokenizer.apply_chat_template(as_chat(row), tokenize=False)\n",
                    "    text = tokenizer.apply_chat_template(\n"
                    "        as_chat(row), add_generation_prompt=True, tokenize=False\n"
                    "    )\n",
                ),
            ),
            cause="In training another turn is opened behind the reply, and the classes are read "
            "at its last token; the server opens none, and reads them at the end of the reply.",
            fix="Render the chats of training without a generation prompt.",
            threads=("transformers#35352", "transformers#24979"),
            also_kinds=("template",),
            also_places=("data.py load_rows",),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
    },
)
