"""A metric over rows of a kind that a batch need not hold: its mean is nan, the run is well."""

import torch
from transformers import Trainer

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import learns, logged, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model

LONG = 4  # tokens: three digits and the end


class CountsLongRows(Trainer):
    """Logs the mean loss of the rows whose reply has LONG tokens or more."""

    def compute_loss(self, model, inputs, *args, **kwargs):
        is_long = (inputs["labels"] != -100).sum(1) >= LONG
        with torch.no_grad():
            rows = {name: value[is_long] for name, value in inputs.items()}
            mean = model(**rows).loss.item() if is_long.any() else float("nan")
        if model.training:
            self.log({"loss/long": mean})
        return super().compute_loss(model, inputs, *args, **kwargs)


def _make(seed: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    trainer = plain_trainer(
        model,
        reply_rows(2 * 40, seed, tokenizer),
        tokenizer.pad_token_id,
        kind=CountsLongRows,
        per_device_train_batch_size=2,
        learning_rate=2e-4,
        max_steps=40,
        seed=seed,
    )
    held_out = reply_rows(64, seed + 1, tokenizer)
    facts = learns(model, held_out, tokenizer.pad_token_id)
    return of_trainer(trainer, facts, tokenizer=tokenizer)


def _holds(run: Run) -> bool:
    facts, metric = run.facts(), logged(run, "loss/long")
    is_nan = sum(value != value for value in metric)
    all_finite = all(loss == loss for loss in logged(run))
    return is_nan > 0 and all_finite and facts["loss after"] < facts["loss before"]


LOOK_ALIKE = LookAlike(
    name="metric_that_is_nan",
    title="metric that is sometimes nan",
    looks="A metric beside the loss is nan in some entries.",
    because="It averages over rows of one kind, and the batch had none: a mean over nothing. The "
    "run does not train on it.",
    threads=("open-r1#704",),
    make=_make,
    holds=_holds,
)
