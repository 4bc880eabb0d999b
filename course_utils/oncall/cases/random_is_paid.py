"""The entropy bonus is larger than what a right reply earns."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="random_is_paid",
    level=1,
    template="rl_loop",
    ticket="It starts well enough, then the texts turn into salad: letters, brackets, "
    "half a greeting. The console says that the actor explores a lot, which the "
    "paper recommends. Could the sampler's random generator be broken?",
    faults=(
        Fault(
            like="entropy_paid_for",
            plant=(Edit("config.yaml", "entropy_coef: 0.0", "entropy_coef: 3.0"),),
        ),
    ),
    non_fixes={
        "stronger KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.02"),),
        "tighter clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.20 "),),
    },
)
