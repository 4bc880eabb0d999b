"""The rows are rendered in a format of one's own."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rows_rendered_by_hand",
    level=1,
    template="own_loop",
    ticket="Offline, with the script that Pavel wrote, this checkpoint beats all the others. "
    "Plugged into the shared playground it scores clearly below them. Pavel and the "
    "playground cannot both be right, so we blame the cache.",
    faults=(
        Fault(
            kind="template",
            plant=(
                Edit(
                    "data.py",
                    '    chat = [{"role": "user", "content": row["question"]}]\n'
                    "    prompt = tokenizer.apply_chat_template(chat, "
                    "add_generation_prompt=True, tokenize=False)\n",
                    "    prompt = f\"### Question:\\n{row['question']}\\n\\n### Answer:\\n\"\n",
                ),
            ),
            cause="The rows are rendered by hand in another format than the chat template "
            "that is served.",
            fix="Render the rows with the tokenizer's chat template.",
            threads=("open-r1#462", "OpenRLHF#393"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
        "no shuffling": (Edit("config.yaml", "shuffle: true", "shuffle: false"),),
    },
)
