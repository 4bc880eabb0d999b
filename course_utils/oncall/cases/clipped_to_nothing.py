"""The gradients are clipped to norm 0."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="clipped_to_nothing",
    level=1,
    template="own_loop",
    ticket="Forty-eight steps later the weights hash to almost what they were. Every column of "
    "the log is finite and the norms look lively. I even printed the schedule: it goes "
    "up and comes down as drawn on the whiteboard.",
    faults=(
        Fault(
            title="gradients clipped to norm 0",
            kind="no_grad",
            plant=(Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 0.0"),),
            cause="clip_grad_norm_ with max_norm 0 multiplies every gradient by 0; only in some "
            "trainers does 0 mean no clipping.",
            fix="Use a max_norm of 1, or do not call clip_grad_norm_.",
            threads=("OpenNMT-py#1140", "robots#2028"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
    },
)
