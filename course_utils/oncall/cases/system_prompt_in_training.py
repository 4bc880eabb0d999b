"""The rows are trained with a system message that the server never sends."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="system_prompt_in_training",
    level=2,
    template="sft_lora",
    ticket="Training and validation agree to the third digit. In front of customers the answers "
    "are "
    "noticeably worse than in our own evaluation, which uses the trainer's rows. The server "
    "team swears that they load the very files that we exported.",
    faults=(
        Fault(
            title="system prompt only in training",
            kind="template",
            plant=(
                Edit(
                    "data.py",
                    'SYSTEM = ""',
                    'SYSTEM = "You add numbers."',
                ),
            ),
            cause="The rows are rendered with a system message, but the server sends none.",
            fix="Train on the prompts that are served, without the system message.",
            threads=("open-r1#462", "OpenRLHF#393"),
        ),
    ),
    non_fixes={
        "more dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
        "larger alpha": (Edit("config.yaml", "lora_alpha: 32 ", "lora_alpha: 64 "),),
    },
)
