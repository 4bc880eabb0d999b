"""Training uses its own chat template, but the base's template is exported."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="template_of_its_own",
    level=2,
    template="sft_lora",
    ticket="Two colleagues, two verdicts. Mira types her prompts as plain lines into a terminal "
    "and is delighted; Jo uses the product and gets a stammer. They have exchanged "
    "laptops. I am inclined to believe Mira, because she has more years on the job.",
    faults=(
        Fault(
            like="exported_with_another_template",
            fix="Train with the chat template that is served, the base's own: a few dozen steps do "
            "not teach it another one.",
            plant=(
                Edit(
                    "train.py",
                    'RUN = "run"\n',
                    'RUN = "run"\n'
                    "PLAIN = (\n"
                    "    \"{% for message in messages %}{{ message['role'] }}: {{ "
                    "message['content'] }}<|im_end|>\\n\"\n"
                    '    "{% endfor %}{% if add_generation_prompt %}assistant: {% endif '
                    '%}"\n'
                    ")\n",
                ),
                Edit(
                    "train.py",
                    '    tokenizer.padding_side = "right"  # for',
                    "    tokenizer.chat_template = PLAIN\n"
                    '    tokenizer.padding_side = "right"  # for',
                ),
                Edit(
                    "train.py",
                    '    tokenizer.padding_side = "left"\n'
                    '    tokenizer.save_pretrained(f"{RUN}/model")\n',
                    "    "
                    'AutoTokenizer.from_pretrained(cfg["model"]).save_pretrained(f"{RUN}/mo'
                    'del")\n',
                ),
            ),
            enough=(2,),
        ),
    ),
    non_fixes={
        "a higher limit": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 24"),),
        "larger alpha": (Edit("config.yaml", "lora_alpha: 32 ", "lora_alpha: 64 "),),
    },
)
