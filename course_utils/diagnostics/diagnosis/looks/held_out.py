"""Looks at what a finished classifier says of rows that it was not trained on."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.forward import evaluated, logits_in
from course_utils.diagnostics.diagnosis.measures.spread_rows import spread_out
from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

NUM_ROWS, FEWEST = 128, 32  # of each data set
BY_HEART, FURTHER = 0.9, 0.3  # of the training rows; by so much less of the others
FEW = 512  # rows: a model that begins with nothing does not learn to read from them


@speaks_for(Loss.ROWS, Loss.OTHER)  # of images and sounds too
def look_at_held_out(subject: Subject, sheet: Sheet) -> None:
    """Rows of training that are all known, and of others that are not."""
    trainer = subject.trainer
    trained, held = (getattr(trainer, name, None) for name in ("train_dataset", "eval_dataset"))
    known = _share_right(subject, trained)
    others = _share_right(subject, held) if known is not None and known >= BY_HEART else None
    if others is None:
        return
    said = f"{others:.0%} of the labels of the evaluation are right, {known:.0%} of the training's"
    if others > known - FURTHER:
        sheet.show("rows that it was not trained on", said)
    elif subject.is_drawn and len(trained) <= FEW:
        sheet.find(
            "begins_as_drawn",
            LIKELY,
            "all norms were exactly 1 before the first step, as they are drawn: no checkpoint was "
            f"in the model, and {len(trained)} rows are known by heart",
            said,
            place="the model that the trainer is given",
            why="the weights are as they were drawn at random, no checkpoint is in them, and so "
            "few rows do not teach a model to read: it learns them by heart",
        )
    else:
        sheet.doubt(f"the rows of the training are known by heart: {said}")


def _share_right(subject: Subject, data: Any) -> float | None:
    """The share of rows whose label the model gives; None where rows have no class each."""
    batch = spread_out(subject.trainer, data, NUM_ROWS)
    labels = batch.get("labels") if isinstance(batch, Mapping) else None
    if not isinstance(labels, Tensor) or labels.dim() != 1 or labels.is_floating_point():
        return None
    if len(labels) < FEWEST:
        return None
    device = next(subject.model.parameters()).device
    moved = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in batch.items()}
    with evaluated(subject.model):
        logits = logits_in(subject.model(**moved))
    if not isinstance(logits, Tensor) or logits.dim() != 2 or logits.shape[1] < 2:
        return None
    return float((logits.argmax(-1).cpu() == labels).double().mean())
