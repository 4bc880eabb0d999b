"""A Trainer whose custom compute_loss returns a mean, with four micro-batches accumulated."""

import torch
from torch.nn.functional import cross_entropy
from transformers import Trainer

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import (
    Variants,
    batches,
    logged,
    of_trainer,
    plain_trainer,
    reply_rows,
)
from course_utils.reproductions.lesson_07.never_stops import base_model

ACCUMULATED = 4


def _token_losses(model, inputs) -> tuple[torch.Tensor, torch.Tensor, object]:
    """The summed loss, the number of tokens in it, and what the model returned."""
    labels = inputs.pop("labels")
    out = model(**inputs)
    logits, targets = out.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return cross_entropy(logits, targets, reduction="sum"), (targets != -100).sum(), out


class TakesTheMean(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        total, count, out = _token_losses(model, inputs)
        loss = total / count
        return (loss, out) if return_outputs else loss


class DividesByTheCount(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        total, count, out = _token_losses(model, inputs)
        loss = total / (count if num_items_in_batch is None else num_items_in_batch)
        return (loss, out) if return_outputs else loss


def _build(*, seed: int, kind: type[Trainer]) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows = reply_rows(160, seed, tokenizer)
    (whole,) = batches(rows, len(rows), tokenizer.pad_token_id)
    with torch.no_grad():
        before = model(**whole).loss.item()
    trainer = plain_trainer(
        model,
        rows,
        tokenizer.pad_token_id,
        kind=kind,
        seed=seed,
        max_steps=10,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=ACCUMULATED,
    )
    run = of_trainer(trainer, lambda: {"times too large": logged(run)[0] / before})
    return run


INCIDENT = Incident(
    name="custom_loss_forgets_the_count",
    title="custom loss ignores num_items_in_batch",
    kind="normalisation",
    says="With N accumulation steps the training loss is N times the evaluation loss.",
    cause="compute_loss returns the mean of its micro-batch; since 4.46 the Trainer sums "
    "micro-batches and leaves the division to num_items_in_batch.",
    fix="Divide the summed loss by num_items_in_batch.",
    threads=("transformers#37766", "transformers#34263", "LlamaFactory#7443"),
    make=Variants(_build, broken={"kind": TakesTheMean}, twin={"kind": DividesByTheCount}),
    shows=lambda run: run.facts()["times too large"] > 0.75 * ACCUMULATED,
    causes=("loss_off_by_a_factor",),
    place="compute_loss",
    lesson="08_batch_loss",
)
