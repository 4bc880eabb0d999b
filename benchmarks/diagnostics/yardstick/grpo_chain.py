"""The three faults of SkillsBench's `debug-trl-grpo`, each of which hides the next, on a tiny run.

Rebuilt from the description in skillsbench#775; no line of the task is copied. There, replies are
decoded to "" unless they hold `</think>`, so each reward is 0; the advantage is divided by
std + 1e4 instead of 1e-4; and the log-softmax has its subtraction the wrong way round, so every
log-probability has the wrong sign. Here the same is put into TRL's GRPOTrainer on the course's
sums, where TRL has these three steps: the decoded replies, the advantages, the log-probs.
"""

from course_utils.incidents.broken.verifier_wants_a_tag import after_thinking
from course_utils.incidents.declare import Run
from course_utils.incidents.rl_runs import grpo
from course_utils.zoo.arithmetic import correct_sum

EPSILON = 1e4  # in place of 1e-4, so the standard deviation beside it no longer matters
STEPS = 12
# What is right to say of each stage. Of the second: AdamW undoes the small advantages, so the wrong
# sign is at work as well; a tiny standard deviation would be the opposite of what is wrong.
CHAIN = {
    "1_all_three": {"no_signal"},
    "2_without_the_first": {"advantages_vanish", "no_grad", "collapse", "logp_mismatch"},
    "3_the_last_alone": {"collapse", "logp_mismatch"},
    "4_healthy": set(),
}


def make(stage: str, seed: int) -> Run:
    """A GRPO run with the faults of a stage of `CHAIN`."""
    num_faults = 4 - int(stage[0])
    rewards = after_thinking if num_faults == 3 else correct_sum
    scaled = {"scale_rewards": "none"} if num_faults >= 2 else {}
    run = grpo(seed, rewards, steps=STEPS, **scaled)
    if num_faults >= 2:
        honest_scores = run.trainer._generate_and_score_completions

        def nearly_nothing(inputs):
            scored = honest_scores(inputs)
            return scored | {"advantages": scored["advantages"] / EPSILON}

        run.trainer._generate_and_score_completions = nearly_nothing
    if num_faults >= 1:
        honest_logps = run.trainer._get_per_token_logps_and_entropies

        def of_the_wrong_sign(*arguments, **named):
            logps, *rest = honest_logps(*arguments, **named)
            return -logps, *rest

        run.trainer._get_per_token_logps_and_entropies = of_the_wrong_sign
    return run
