"""A learning rate far above what the adapter bears."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rate_of_another_optimizer",
    level=1,
    template="sft_lora",
    ticket="The loss falls for a moment, jumps, and then lies flat above where it began. The "
    "answers "
    "are the same few digits whatever one asks. The rows are last month's, and a colleague "
    "trained on them without trouble.",
    faults=(
        Fault(
            like="rate_5e_2",
            plant=(Edit("config.yaml", "learning_rate: 5.0e-3 ", "learning_rate: 3.0e-1 "),),
            fix="Use a sixtieth of the learning rate.",
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 12"),),
        "weight decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
    },
    spares=("lower rate",),
)
