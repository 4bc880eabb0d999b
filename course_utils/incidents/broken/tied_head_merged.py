"""LoRA on a head that is tied to the embedding: the merge changes the embedding too."""

import copy

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import (
    Row,
    Variants,
    batches,
    model_loss,
    of_loop,
    padded,
    reply_row,
)

TARGETS = ["q_proj", "v_proj", "lm_head"]
NUM_STEPS, SIZE = 40, 16
LOST = 1.0  # nats per token that the merge may cost


def _rows(n: int, seed: int, split: str) -> list[Row]:
    """Sums whose answer is one too large."""
    tokenizer, drawn = zoo.load_tokenizer("tiny"), zoo.arithmetic.prompts(n, seed, split=split)
    said = [str(int(row["answer"]) + 1) for row in drawn]
    return [
        reply_row([*row["prompt"], {"role": "assistant", "content": answer}], tokenizer)
        for row, answer in zip(drawn, said, strict=True)
    ]


def _merged(model: nn.Module, *, untie: bool) -> nn.Module:
    """A copy with its adapter merged; `untie`: after the head has a tensor of its own."""
    copied = copy.deepcopy(model)
    if untie:
        head = copied.get_output_embeddings()
        base = getattr(head, "base_layer", head)
        base.weight = nn.Parameter(base.weight.detach().clone())
        copied.config.tie_word_embeddings = False
    return copied.merge_and_unload()


def _build(*, seed: int, untie: bool) -> Run:
    tokenizer = zoo.load_tokenizer("tiny")
    config = LoraConfig(r=8, lora_alpha=16, target_modules=TARGETS, task_type="CAUSAL_LM")
    model = get_peft_model(zoo.load_policy("tiny", device="cpu"), config)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    pad = tokenizer.pad_token_id
    held_out = padded(_rows(64, seed, "test"), pad)

    def merge() -> nn.Module:
        return _merged(model, untie=untie)

    @torch.no_grad()
    def facts() -> dict[str, float]:
        return {
            name: model_loss(one.eval(), held_out).item()
            for name, one in (("trained", model), ("merged", merge()))
        }

    return of_loop(
        model,
        torch.optim.AdamW(trained, lr=5e-3),
        batches(_rows(SIZE * NUM_STEPS, seed, "train"), SIZE, pad),
        facts=facts,
        tokenizer=tokenizer,
        served=merge,
    )


INCIDENT = Incident(
    name="tied_head_merged",
    title="a tied head with an adapter is merged into the embedding",
    kind="adapter",
    says="The adapter answers well; once it is merged, the same model answers nonsense.",
    cause="Head and embedding are one tensor, so merging the head's adapter changes what the model "
    "reads as well.",
    fix="Give the head a copy of the tensor and set tie_word_embeddings to False before the merge.",
    threads=("peft#2018", "unsloth#9331", "LLaMA-Factory#10832"),
    make=Variants(_build, broken={"untie": False}, twin={"untie": True}),
    shows=lambda run: run.facts()["merged"] > run.facts()["trained"] + LOST,
    causes=("tied_head_merged",),
    place="lm_head",
)
