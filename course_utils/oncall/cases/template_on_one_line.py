"""The exported chat template has lost its line breaks."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="template_on_one_line",
    level=2,
    template="export_serve",
    ticket="Our configuration service cannot hold a text of several lines, and since somebody "
    "made room for that the prices on the page are off. The weights are byte for byte "
    "those of the good release: I have compared the digests. Are they rounding on the "
    "other side?",
    faults=(
        Fault(
            title="line breaks lost from the chat template",
            kind="template",
            plant=(
                Edit(
                    "export.py",
                    '    tokenizer.padding_side = "left"\n',
                    '    tokenizer.padding_side = "left"\n'
                    '    tokenizer.chat_template = " ".join(tokenizer.chat_template.split())\n',
                ),
            ),
            cause="The line breaks of the chat template are part of every prompt, and the export "
            "replaces them by spaces.",
            fix="Export the chat template that the model was trained with.",
            threads=("transformers#34462", "VL-RLHF#2"),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 10", "warmup_steps: 20"),),
        "dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
    },
)
