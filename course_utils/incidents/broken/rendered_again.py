"""The conversation is rendered again for the trainer, which scores tokens that nobody sampled."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, mean
from course_utils.zoo.arithmetic import correct_sum


def again(tokenizer, prompt: list[dict], ids: list[int]) -> list[int]:
    """The reply as the chat template renders it, end and newline included."""
    reply = {"role": "assistant", "content": tokenizer.decode(ids, skip_special_tokens=True)}
    before = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False)
    whole = tokenizer.apply_chat_template([*prompt, reply], tokenize=False)
    return tokenizer(whole[len(before) :], add_special_tokens=False)["input_ids"]


def make(variant: Variant, seed: int) -> Run:
    from course_utils.incidents.two_engines import engine_with, served_by

    sample, others = served_by(engine_with()), []

    def rollout(prompts, trainer) -> dict[str, list]:
        asked, _, _ = trainer._tokenize_prompts(prompts)
        ids, _ = sample(trainer, asked)
        scored = ids
        if variant == "broken":
            rows = zip(prompts, ids, strict=True)
            scored = [again(trainer.processing_class, prompt, row) for prompt, row in rows]
        others.extend(float(a != b) for a, b in zip(ids, scored, strict=True))
        return {"prompt_ids": asked, "completion_ids": scored, "logprobs": None}

    return grpo(
        seed,
        correct_sum,
        steps=4,
        rollout_func=rollout,
        facts=lambda model: {"replies_changed": mean(others)},
    )


def shows(run: Run) -> bool:
    return run.facts()["replies_changed"] > 0.9


INCIDENT = Incident(
    name="rendered_again",
    title="replies tokenized again for the trainer",
    kind="retokenised",
    says="Silent; a comparison of the ids shows that the scored reply is one token longer than "
    "the sampled one, and no reply seems to end.",
    cause="Replies are decoded and rendered again through the chat template, which adds a "
    "newline after the end token: the last scored token was never sampled.",
    fix="Concatenate the ids that were sampled; never decode and encode.",
    threads=("trl#5224", "verl#6501", "verl#3960"),
    rebuilt="A custom rollout_func in today's TRL, whose tool loop has been fixed.",
    make=make,
    shows=shows,
    causes=("replies_cut",),
    place="completion_ids",
    lesson="09_two_logprobs",
)
