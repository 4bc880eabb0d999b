"""Warm-up that was set for the large run."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="ramp_longer_than_the_run",
    level=1,
    template="distil_loop",
    ticket="We took over the settings of the big sibling, where they are proven. Ours is as "
    "clever after the night as before it. There is movement, only very little of it, and the "
    "student is a patient one.",
    faults=(
        Fault(
            like="warmup_longer_than_the_run",
            plant=(Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 4000"),),
            cause="The warm-up is longer than the run, so the rate never gets beyond a hundredth "
            "of what was asked for.",
            fix="A warm-up of some steps.",
            also_kinds=("rate",),
        ),
    ),
    non_fixes={
        "hotter": (Edit("config.yaml", "temperature: 1.5 ", "temperature: 4.0 "),),
        "no answers": (Edit("config.yaml", "answer_weight: 0.1 ", "answer_weight: 0.0 "),),
    },
)
