"""The padding after the end is outside the nucleus: minus infinity times 0."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="nucleus_beside_the_end",
    level=2,
    template="rl_loop",
    ticket="Dead in the first minute, with the word nan all over the second half of the "
    "line, while the first half, with the points that were won, looks healthy. "
    "We did follow the model card to the letter. The graphics driver was updated "
    "on the same day.",
    faults=(
        Fault(
            title="log-probs of minus infinity times a mask of 0",
            kind="bad_numbers",
            plant=(Edit("config.yaml", "top_p: 1.0", "top_p: 0.9"),),
            cause="With top_p below 1, the log-probs of the padding after a reply's end are "
            "minus infinity, and the mask multiplies them by 0, which is nan.",
            fix="Sample from all tokens, or leave out the padding before multiplying.",
            threads=("trl#6789", "ms-swift#8442"),
            also_kinds=("logp_mismatch", "tiny_std"),
            also_places=(
                "rollout.py rollout",
                "rollout.py keep_top_p",
                "losses.py token_mean",
                "losses.py policy_loss",
            ),
        ),
    ),
    non_fixes={
        "tighter clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.20 "),),
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
    },
)
