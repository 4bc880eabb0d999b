"""An optimizer made before the adapter: it holds the frozen weights and none of LoRA's."""

import torch
from peft import LoraConfig, get_peft_model

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import LORA, Variants, batches, moves, of_loop, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _build(*, seed: int, adapter_first: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    weights = list(model.parameters())
    model = get_peft_model(model, LoraConfig(**LORA))
    if adapter_first:
        weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=5e-3)
    rows = reply_rows(16 * 16, seed, tokenizer)
    return of_loop(
        model,
        optimizer,
        batches(rows, 16, tokenizer.pad_token_id),
        facts=moves(model),
        tokenizer=tokenizer,
    )


INCIDENT = Incident(
    name="optimizer_before_adapter",
    title="optimizer holds the wrong weights",
    kind="no_grad",
    says="grad_norm looks fine and nothing raises, but the adapter's weights are never updated.",
    cause="The optimizer was given the model's parameters before get_peft_model added the "
    "adapter's and froze the others.",
    fix="Create the optimizer after the adapter.",
    threads=("adapters#260",),
    make=Variants(_build, broken={"adapter_first": False}, twin={"adapter_first": True}),
    shows=lambda run: run.facts()["moved"] == 0,
    causes=("nothing_moves",),
    place="optimizer",
    lesson="06_grad_fn",
)
