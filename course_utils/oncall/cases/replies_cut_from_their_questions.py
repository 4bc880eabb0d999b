"""Rows are cut before the reply, which is what is to be judged."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="replies_cut_from_their_questions",
    level=1,
    template="sum_checker",
    ticket="To get through the night sooner we gave the checker a smaller window, and it is "
    "twice as fast now. Its answers depend on what was asked and no longer on what was answered; "
    "ask it the same thing twice with other replies, and it does not even blink.",
    faults=(
        Fault(
            like="prompt_fills_the_room",
            title="rows cut before their replies",
            plant=(
                Edit(
                    "data.py",
                    '    ids = tokenizer(text, add_special_tokens=False)["input_ids"]\n',
                    "    ids = tokenizer(\n"
                    "        text, add_special_tokens=False, truncation=True, max_length=12\n"
                    '    )["input_ids"]\n',
                ),
            ),
            cause="The rows are cut at 12 tokens, before their replies begin, so the class has "
            "to be guessed from the question.",
            fix="A limit that the longest row fits into, or none.",
            also_places=("data.py encode",),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
    },
)
