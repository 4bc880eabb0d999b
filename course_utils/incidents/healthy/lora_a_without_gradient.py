"""The first step of LoRA: every gradient of A is exactly 0, since B is 0."""

import torch
from peft import LoraConfig, get_peft_model

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import LORA, batches, logged, model_loss, of_loop, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _make(seed: int) -> Run:
    torch.manual_seed(seed)
    tokenizer = zoo.load_tokenizer("tiny")
    model = get_peft_model(base_model(seed=seed), LoraConfig(**LORA))
    trained = {name: w for name, w in model.named_parameters() if w.requires_grad}
    norms: list[float] = []

    def loss(model, batch) -> torch.Tensor:
        value = model_loss(model, batch)
        a = [w for name, w in trained.items() if "lora_A" in name]
        found = torch.autograd.grad(value, a, retain_graph=True)
        norms.append(sum(float(g.square().sum()) for g in found) ** 0.5)
        return value

    rows = reply_rows(16 * 16, seed, tokenizer)
    return of_loop(
        model,
        torch.optim.AdamW(trained.values(), lr=5e-3),
        batches(rows, 16, tokenizer.pad_token_id),
        loss=loss,
        facts=lambda: {"norm of A at first": norms[0], "norm of A at last": norms[-1]},
        tokenizer=tokenizer,
    )


def _holds(run: Run) -> bool:
    facts, losses = run.facts(), logged(run)
    moves = facts["norm of A at first"] == 0 < facts["norm of A at last"]
    return moves and sum(losses[-4:]) < sum(losses[:4])


LOOK_ALIKE = LookAlike(
    name="lora_a_without_gradient",
    title="no gradient in lora_A at the first step",
    looks="Half of the trainable weights, all the lora_A, have a gradient of exactly 0.",
    because="lora_B starts at 0, so nothing reaches A in the first step; from the second on it "
    "does. The base has no gradient because it is frozen, as it should be.",
    threads=("peft#282",),
    make=_make,
    holds=_holds,
)
