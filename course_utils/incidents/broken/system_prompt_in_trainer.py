"""Replies sampled after one prompt and scored after another, which has a system message."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo
from course_utils.zoo.arithmetic import correct_sum

SYSTEM = {"role": "system", "content": "You are a helpful assistant that adds numbers."}


def make(variant: Variant, seed: int) -> Run:
    from course_utils.incidents.two_engines import engine_with, served_by

    sample = served_by(engine_with())

    def rollout(prompts, trainer) -> dict[str, list]:
        asked, _, _ = trainer._tokenize_prompts(prompts)
        ids, logps = sample(trainer, asked)
        if variant == "broken":
            asked, _, _ = trainer._tokenize_prompts([[SYSTEM, *prompt] for prompt in prompts])
        return {"prompt_ids": asked, "completion_ids": ids, "logprobs": logps}

    return grpo(seed, correct_sum, steps=12, rollout_func=rollout)


def shows(run: Run) -> bool:
    return run.facts()["truth"] < 0.6


INCIDENT = Incident(
    name="system_prompt_in_trainer",
    title="system prompt only in the trainer",
    kind="logp_mismatch",
    says="The rollouts start well, but within ten steps the policy is worse than its base.",
    cause="The rollout function renders the prompts once for the engine and once for the "
    "trainer, and only the trainer's have the system message: the policy is trained on a "
    "different prompt than the one it answered.",
    fix="Return the prompt ids that the replies were sampled from.",
    threads=("verl#3960", "verl#6501"),
    rebuilt="A custom rollout_func in today's TRL; the threads met it in verl's agent loop.",
    make=make,
    shows=shows,
    causes=("engines_disagree", "collapse"),
    place="prompt",
    lesson="09_two_logprobs",
)
