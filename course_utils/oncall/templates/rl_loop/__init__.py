"""A hand-written GRPO loop in verl's manner: a sampler with its own weights, several updates."""

from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Template
from course_utils.oncall.templates.grpo_sums import METRICS, measure, rows

TEMPLATE = Template(
    name="rl_loop",
    about="GRPO on sums of three numbers with a loop of our own, a sampler and a KL term.",
    base=partial(noisy, noise=0.05),
    rows=rows,
    measure=measure,
    metrics=METRICS,
    sizes=(
        *("model", "num_rollouts", "prompts_per_rollout", "replies_per_prompt"),
        *("response_length", "mini_batch_size"),
    ),
)
