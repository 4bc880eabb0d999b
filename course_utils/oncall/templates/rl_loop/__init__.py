"""A hand-written GRPO loop in verl's manner: a sampler with its own weights, several updates."""

from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Template
from course_utils.oncall.templates.grpo_sums import measure, rows

TEMPLATE = Template(
    name="rl_loop",
    about="GRPO on sums of three numbers with a loop of our own, a sampler and a KL term.",
    base=partial(noisy, noise=0.05),
    rows=rows,
    measure=measure,
    metrics={
        "right": Metric("share of held-out sums right, greedily", higher=True, grain=0.06),
        "sampled": Metric("share of held-out sums right when sampled", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
    },
    sizes=(
        *("model", "num_rollouts", "prompts_per_rollout", "replies_per_prompt"),
        *("response_length", "mini_batch_size"),
    ),
)
