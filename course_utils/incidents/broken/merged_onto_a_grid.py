"""An adapter merged into 4-bit weights: most of it is smaller than their grid."""

import copy

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, batches, model_loss, of_loop, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model
from course_utils.reproductions.lesson_11.grid import put_onto_grid

LORA = dict(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
NUM_STEPS = 40


def _build(*, seed: int, into_4_bit: bool) -> Run:
    tokenizer = zoo.load_tokenizer("tiny")
    model = get_peft_model(put_onto_grid(base_model(seed=seed)), LoraConfig(**LORA))
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    rows = reply_rows(16 * (NUM_STEPS + 2), seed, tokenizer)
    *steps, test_a, test_b = batches(rows, 16, tokenizer.pad_token_id)

    def merge() -> nn.Module:
        merged = copy.deepcopy(model).merge_and_unload()
        return put_onto_grid(merged) if into_4_bit else merged

    @torch.no_grad()
    def facts() -> dict[str, float]:
        losses = {"base": None, "trained": model, "merged": merge()}
        with model.disable_adapter():
            losses["base"] = model_loss(model, test_a).item() + model_loss(model, test_b).item()
        for name in ("trained", "merged"):
            one = losses[name]
            losses[name] = model_loss(one, test_a).item() + model_loss(one, test_b).item()
        gain = losses["base"] - losses["trained"]
        return losses | {"kept": (losses["base"] - losses["merged"]) / gain}

    optimizer = torch.optim.AdamW(trained, lr=2e-4)
    return of_loop(model, optimizer, steps, facts=facts, tokenizer=tokenizer, served=merge)


INCIDENT = Incident(
    name="merged_onto_a_grid",
    title="adapter lost when the merged weights are quantised",
    kind="adapter",
    says="The QLoRA model is good before the merge; the merged 4-bit model has forgotten "
    "everything.",
    cause="The adapter's delta is smaller than half a step of the 4-bit grid, so quantising the "
    "merged weights rounds most of it away.",
    fix="Merge into 16-bit weights and serve those, or serve the adapter beside the base.",
    threads=("peft#2321", "peft#1043"),
    make=Variants(_build, broken={"into_4_bit": True}, twin={"into_4_bit": False}),
    shows=lambda run: run.facts()["kept"] < 0.5,
    rebuilt="bitsandbytes' 4-bit merge (dequantise, add, quantise) in four lines, with equal "
    "steps; the base stands on the grid from the start.",
    place="merge",
)
