"""Writes down what a reader would look at first: two rows, what is learnt of them, the first loss.

Shape letters: B rows, T tokens, V vocabulary.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.batch_view.rows import first_rows, unchanged
from course_utils.diagnostics.diagnosis.looks.weights import DRAWN
from course_utils.diagnostics.diagnosis.measures.forward import evaluated, has_ids, outputs_of
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import (
    LOOP,
    PAIRS,
    POLICY,
    REPLIES,
    Subject,
)
from course_utils.diagnostics.loss_kind import Loss, head_of, speaks_for

NUM_ROWS, MAX_ROWS = 2, 4
BEGIN, END = 56, 32  # characters of a text that is shown
IGNORED, TAGS = -100, 12  # tags that are shown of a row
GUESSED = 1.02  # of ln V: a first loss beyond it is worse than guessing


def show_rows(subject: Subject, sheet: Sheet) -> None:
    """Two rows as text with what is learnt of them; without tokens, what the first row holds."""
    if subject.kind == POLICY:
        sheet.rows += _prompts(subject)
    elif has_ids(subject.batch) and subject.tokenizer is not None:
        sheet.rows += _texts(subject)
    elif isinstance(subject.batch, Mapping):
        held = ", ".join(f"{name} {_said(value)}" for name, value in subject.batch.items())
        sheet.rows += [f"The first row holds {held}"]


@speaks_for(Loss.NEXT_TOKEN)
def show_first_loss(subject: Subject, sheet: Sheet) -> None:
    """The loss of the first rows beside that of guessing, of a model that predicts tokens.

    It is the run's first loss only where the run's loss is the model's own and no step was taken,
    which is not known of a loop.
    """
    batch = subject.batch
    if not has_ids(batch) or head_of(subject.model) is None:  # whose logits are not known
        return
    labels = batch.get("labels")
    if not isinstance(labels, Tensor) or labels.shape != batch["input_ids"].shape:
        return
    few = {k: v[:MAX_ROWS] for k, v in batch.items() if isinstance(v, Tensor) and v.dim()}
    targets_T = few["labels"][:, 1:].flatten()
    if not bool((targets_T != IGNORED).any()):
        return
    with evaluated(subject.model):
        logits_BTV = outputs_of(subject.model, few)
    logits_TV = logits_BTV[:, :-1].flatten(0, 1)
    loss = float(nn.functional.cross_entropy(logits_TV, targets_T.to(logits_TV.device)))
    size = logits_TV.shape[-1]
    guess = math.log(size)
    is_first = _is_before_the_run(subject) and subject.logs_nats_per_token
    whose = "" if is_first else ", on the labels of the first rows"
    said = f"{loss:.3g} nats per token{whose}; guessing has ln({size}) = {guess:.3g}"
    if loss > GUESSED * guess:
        said += (
            ". It is ABOVE guessing, as with weights that were not loaded or a head that is new, "
            "and in the first steps of whole chats on a chat model"
        )
    if is_first:
        sheet.first_loss = f"{said}. {DRAWN.capitalize()}" if subject.is_drawn else said
    else:
        when = "before the first step" if _is_before_the_run(subject) else "now"
        sheet.loss_now = f"{said}, {when}"


def _is_before_the_run(subject: Subject) -> bool:
    """Whether no step was taken, which nobody knows of a loop."""
    has_stepped = subject.has_ended or subject.log or getattr(subject.optimizer, "state", None)
    return subject.kind != LOOP and not has_stepped


def _texts(subject: Subject) -> Iterator[str]:
    batch, decode = subject.batch, subject.tokenizer.decode
    ids = batch["input_ids"]
    second = len(ids) // 2 if subject.kind == PAIRS else 1  # the rejected reply to the same prompt
    for name, b in (("Row 0", 0), (f"Row {second}", second)):
        if b >= len(ids):
            return
        keep = _row(batch, "attention_mask", b, ids.shape)
        keep = torch.ones_like(ids[b]).bool() if keep is None else keep.bool()
        yield f"{name} reads {short(decode(ids[b][keep]))}"
        if subject.loss is Loss.TAGS:
            yield f"  and its tags are {_tags(batch, b)}"
        elif (learnt := _learnt(batch, b)) is not None:
            is_all = len(learnt) and torch.equal(learnt.cpu(), ids[b][keep].cpu())
            said = "all of it" if is_all else short(decode(learnt)) if len(learnt) else "NOTHING"
            yield f"  and {_direction(subject, b)} {said}"
        elif isinstance(label := batch.get("labels"), Tensor) and label.dim():
            few = label[b].tolist() if label[b].numel() < 9 else _said(label)
            yield f"  and its label is {few}"


def _tags(batch: Mapping, b: int) -> str:
    """The classes of a row's tokens, which are no ids."""
    tags = _row(batch, "labels", b, batch["input_ids"].shape)
    few = [] if tags is None else [tag for tag in tags.tolist() if tag != IGNORED]
    return f"{', '.join(map(str, few[:TAGS]))}{' ...' * (len(few) > TAGS)}" or "NONE"


def _direction(subject: Subject, b: int) -> str:
    """What the loss does with the reply of a row: a rejected one is pushed down.

    A loop of one's own may have another loss than that of the labels.
    """
    if subject.kind == LOOP:
        return "has the labels"
    label = subject.batch.get("label")
    is_thumb_down = subject.kind == REPLIES and label is not None and not bool(label[b])
    is_rejected = subject.kind == PAIRS and b >= len(subject.batch["input_ids"]) // 2
    return "is pushed away from" if is_thumb_down or is_rejected else "learns"


def _learnt(batch: Mapping, b: int) -> Tensor | None:
    """The ids that are in the loss; None where no column of the ids' shape says so."""
    ids = batch["input_ids"]
    labels, mask = (_row(batch, name, b, ids.shape) for name in ("labels", "completion_mask"))
    if labels is not None:
        return labels[labels != IGNORED]
    return None if mask is None else ids[b][mask.bool()]


def _row(batch: Mapping, name: str, b: int, shape: torch.Size) -> Tensor | None:
    column = batch.get(name)
    return column[b] if isinstance(column, Tensor) and column.shape == shape else None


def _prompts(subject: Subject) -> Iterator[str]:
    """The first prompts with the row's other columns, as the reward function gets them."""
    with unchanged(subject.trainer.train_dataset):
        rows = first_rows(subject.trainer.train_dataset, NUM_ROWS)
    for number, row in enumerate(rows):
        prompt = row["prompt"]
        text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        rest = {k: v for k, v in row.items() if k != "prompt" and isinstance(v, str | int | float)}
        values = ((k, short(v) if isinstance(v, str) else v) for k, v in list(rest.items())[:2])
        told = ", ".join(f"{name} {value}" for name, value in values)
        yield f"Row {number} asks {short(str(text))}{' with ' if told else ''}{told}"


def _said(value: Any) -> str:
    """A column of the first row, in a few words."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    first = value[0] if value.dim() else value
    kind = str(value.dtype).removeprefix("torch.")
    if first.numel() <= 1 or value.is_complex():
        return f"{first.tolist()} ({kind})"
    least, most = float(first.min()), float(first.max())
    return f"{tuple(first.shape)} {kind} from {least:.3g} to {most:.3g}"


def short(text: str) -> str:
    """A text on one line, its middle left out.

    >>> short("2 + 2 =")
    "'2 + 2 ='"
    """
    is_long = len(text) > BEGIN + END + 5
    return f"{text[:BEGIN]!r} ... {text[-END:]!r}" if is_long else repr(text)
