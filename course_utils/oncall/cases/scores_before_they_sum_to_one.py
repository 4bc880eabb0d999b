"""The sampler keeps the logits of its tokens where the loss expects log-probs."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="scores_before_they_sum_to_one",
    level=1,
    template="rl_loop",
    ticket="Ten rollouts later it adds no better than it did before, if anything worse. The groups "
    "have good and bad replies in them, and the weights do change. Two columns that used to lie "
    "near nothing are large from the first line on, but nobody here could ever tell me what "
    "those two are for.",
    faults=(
        Fault(
            title="logits kept in place of log-probs",
            kind="logp_mismatch",
            plant=(Edit("rollout.py", "logps.append(logp.gather(", "logps.append(logits.gather("),),
            cause="The sampler keeps the logits of its tokens in place of their log-probs, so "
            "every ratio is next to nothing: the advantages hardly reach the weights, and good "
            "and bad replies are clipped unlike.",
            fix="Keep the log-probs, after the log-softmax.",
            threads=("trl#4159", "prime-rl#697"),
            also_kinds=("on_policy", "metric"),
        ),
    ),
    non_fixes={
        "wider clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.50 "),),
        "another estimate": (Edit("config.yaml", "kl_kind: k3", "kl_kind: k2"),),
    },
)
