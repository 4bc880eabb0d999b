"""The trainer's log-probs are those of the next position."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="scored_one_late",
    level=2,
    template="rl_loop",
    ticket="The score is fine for the first rollout and then falls off a cliff, as if "
    "each update undid what the model knew. A smaller step only makes the fall "
    "slower. Since the rewards are printed and correct, I suspect the checkpoint "
    "that we were given.",
    faults=(
        Fault(
            like="logps_one_longer",
            plant=(
                Edit(
                    "train.py",
                    "logits = output.logits[:, -length - 1 : -1] /",
                    "logits = output.logits[:, -length:] /",
                ),
            ),
            cause="The logits at a position predict the next token, but each reply token is "
            "scored with the logits at its own position.",
            fix="Take the logits one position earlier.",
            also_kinds=("collapse",),
        ),
    ),
    non_fixes={
        "tighter clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.10 "),),
        "stronger KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.02"),),
    },
)
