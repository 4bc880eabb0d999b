"""A reward that depends on the prompt alone: it varies over the batch and never in a group."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, mean, said, values


def rewrite_reward(prompts, completions, *, reads: str) -> list[float]:
    """How many digits there are, in the question or in the reply."""
    texts = said(prompts if reads == "prompts" else completions)
    return [float(sum(letter.isdigit() for letter in text)) for text in texts]


def make(variant: Variant, seed: int) -> Run:
    reads = "prompts" if variant == "broken" else "completions"

    def if_rewrite_reward(prompts, completions, **_columns) -> list[float]:
        return rewrite_reward(prompts, completions, reads=reads)

    return grpo(seed, if_rewrite_reward, steps=4)


def shows(run: Run) -> bool:
    spread = mean(values(run, "rewards/if_rewrite_reward/std"))
    return spread > 0.1 and set(values(run, "frac_reward_zero_std")) == {1.0}


INCIDENT = Incident(
    name="reward_of_the_prompt",
    title="reward depends on the prompt alone",
    kind="no_signal",
    says="Loss 0.0 and grad_norm 0.0, although the reward function's std is far from 0.",
    cause="The reward is computed from the prompt and not from the reply: it differs between "
    "prompts, but all replies to one prompt earn the same.",
    fix="Score the completions.",
    threads=("trl#3857",),
    rebuilt="The thread shows the numbers and not the function; this is one that gives them.",
    make=make,
    shows=shows,
    causes=("no_signal",),
    place="frac_reward_zero_std",
    lesson="10_reward_up",
)
