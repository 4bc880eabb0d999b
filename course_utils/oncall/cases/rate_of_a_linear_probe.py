"""A learning rate a hundred times too high."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rate_of_a_linear_probe",
    level=1,
    template="dpo_digits",
    ticket="It says nonsense. Not wrong digits: letters, brackets, half of the alphabet. The "
    "reviewer asked why anyone would need an optimiser for that. Swapping the pairs for "
    "cleaner ones did precisely nothing.",
    faults=(
        Fault(
            like="dpo_rate_too_high",
            kind="rate",
            plant=(Edit("config.yaml", "learning_rate: 3.0e-4 ", "learning_rate: 3.0e-2 "),),
            also_kinds=("preference",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 2", "warmup_steps: 8"),),
        "a higher beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.3"),),
    },
    spares=("lower rate",),
)
