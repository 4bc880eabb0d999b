"""A base model learns the end of its chat template and stops at the end of its pre-training."""

import torch

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, of_trainer
from course_utils.reproductions.lesson_07.never_stops import base_model, chats, sft_trainer

LIMIT = 12


def _build(*, seed: int, eos_token: str | None) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    tokenizer.eos_token = "<|endoftext|>"  # as the checkpoint of a base model says
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    trainer = sft_trainer(
        model,
        tokenizer,
        dataset=chats(480, seed),
        eos_token=eos_token,
        max_steps=30,
        warmup_steps=6,
        learning_rate=2e-3,
        logging_steps=1,
        seed=seed,
    )
    return of_trainer(trainer, lambda: _as_served(model), tokenizer=tokenizer)


def _as_served(model) -> dict[str, float]:
    """The share of replies that generation ends, and of those that hold the end of a turn."""
    tokenizer, sums = zoo.load_tokenizer("tiny"), zoo.arithmetic.prompts(32, 7, split="test")
    asked = tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, tokenize=False
    )
    batch = tokenizer(asked, padding=True, return_tensors="pt")
    whole = model.eval().generate(
        **batch, max_new_tokens=LIMIT, do_sample=False, pad_token_id=tokenizer.pad_token_id
    )
    new = whole[:, batch["input_ids"].shape[1] :]
    padded = torch.nn.functional.pad(new, (0, LIMIT - new.shape[1]), value=tokenizer.pad_token_id)
    is_end = padded == tokenizer.convert_tokens_to_ids("<|im_end|>")
    halts = (padded[:, -1] == tokenizer.pad_token_id).float().mean().item()
    return {"halts": halts, "says the end": is_end.any(1).float().mean().item()}


INCIDENT = Incident(
    name="stops_at_another_id",
    title="generation stops at the wrong token",
    kind="never_stops",
    says="Qwen2.5 base fine-tuned on chats answers, writes <|im_end|>, and goes on to the limit.",
    cause="generation_config.eos_token_id is the base's <|endoftext|>, but the template ends a "
    "turn with <|im_end|>.",
    fix='Set SFTConfig(eos_token="<|im_end|>"), which sets generation_config too.',
    threads=("ms-swift#3113", "Qwen3#927", "LLaMA-Factory#7454"),
    make=Variants(_build, broken={"eos_token": None}, twin={"eos_token": "<|im_end|>"}),
    shows=lambda run: run.facts()["says the end"] > 0.5 and run.facts()["halts"] < 0.25,
    place="eos_token",
    lesson="07_never_stops",
)
