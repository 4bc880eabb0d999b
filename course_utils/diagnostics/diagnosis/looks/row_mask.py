"""Looks at the mask that rows carry beside their ids: whether the batch still keeps to it.

Shape letters: B rows, T tokens.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.batch_view.rows import first_rows
from course_utils.diagnostics.diagnosis.measures.one_loss import learnt_places
from course_utils.diagnostics.diagnosis.measures.specimens import SHOWN, quoted
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, NUM_ROWS, TRAINING, Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

NONE = -100  # the label of a token that is not learnt
MASKS = ("completion_mask", "assistant_masks", "assistant_mask", "response_mask", "loss_mask")
LEAST = 0.5  # of the masked tokens: fewer that are learnt may be ends, which some libraries add
WHOLE = {"completion_only_loss": MASKS[:1], "assistant_only_loss": MASKS[1:3]}  # False: wanted

Masked = tuple[str, Tensor, Tensor, Tensor]  # column; ids, is learnt by the row, labels: each (T,)


@speaks_for(Loss.NEXT_TOKEN)
def look_at_row_mask(subject: Subject, sheet: Sheet) -> None:
    """Count tokens that their row's own mask leaves out, and the batch learns."""
    labels = subject.batch.get("labels") if isinstance(subject.batch, Mapping) else None
    if subject.kind not in (TRAINING, LOOP) or not isinstance(labels, Tensor) or labels.dim() != 2:
        return
    wanted = {m for name, masks in WHOLE.items() if _is_off(subject, name) for m in masks}
    found = [one for one in _masked(subject, labels) if one[0] not in wanted]
    masked = sum(int((~learns).sum()) for _, _, learns, _ in found)
    if not masked:
        return
    learnt = _num_learnt(found)
    if learnt >= LEAST * masked:
        counted = [one for one in _masked(subject, _counted(subject)) if one[0] not in wanted]
        if _num_learnt(counted) < LEAST * masked:  # the loss itself leaves them out
            learnt = _num_learnt(counted)
    column, said = found[0][0], f"{learnt} of the {masked} tokens that it leaves out are learnt"
    if learnt < LEAST * masked:
        sheet.clear(f"{column} of the rows", said)
        return
    ids = found[0][1][~found[0][2]]
    sheet.find(
        "prompt_in_loss",
        COUNTED,
        f"{column}: {said}",
        place=f"{column}, {subject.batch_maker}",
        why=f"the rows carry {column}, and the labels of the batch do not keep to it",
        advice=f"set the labels to -100 where {column} says so, in {subject.batch_maker}",
        specimen=(f"learnt, and masked in its row: {_text(subject, ids)}",),
    )


def _num_learnt(found: list[Masked]) -> int:
    return sum(int((~learns & (labels == ids)).sum()) for _, ids, learns, labels in found)


def _counted(subject: Subject) -> Tensor:
    """The labels (B, T) of which the loss learns: each by the logits of the token before it."""
    labels_BT, places_BT = subject.batch["labels"], learnt_places(subject)
    if places_BT is None or places_BT.shape[1] < labels_BT.shape[1]:
        return labels_BT
    places_BT = places_BT[:, -labels_BT.shape[1] :]  # a soft prompt stands before the tokens
    before_BT = places_BT.roll(1, 1).to(labels_BT.device)
    before_BT[:, 0] = False
    return labels_BT.masked_fill(~before_BT, NONE)


def _masked(subject: Subject, labels: Tensor) -> Iterator[Masked]:
    """The rows that carry a mask with both kinds of tokens, and stand in the batch as they are."""
    ids = subject.batch.get("input_ids")
    if not isinstance(ids, Tensor) or ids.shape != labels.shape:
        return
    for b, row in enumerate(_rows(subject)[: len(ids)]):
        own = torch.as_tensor(row["input_ids"])
        column, learns = _mask_of(row, own)
        if not column or learns.all() or not learns.any():
            continue
        for at in {0, ids.shape[1] - len(own)}:  # padded on the right, or on the left
            span = slice(at, at + len(own))
            if at >= 0 and torch.equal(ids[b, span].cpu(), own):
                yield column, own, learns, labels[b, span].cpu()
                break


def _rows(subject: Subject) -> list[Mapping]:
    """The first rows of the data set; of a loop, those of the batch itself."""
    if subject.trainer is None:
        size = len(subject.batch["input_ids"])
        tensors = {
            k: v
            for k, v in subject.batch.items()
            if k in ("input_ids", *MASKS) and isinstance(v, Tensor) and len(v) == size
        }
        return [{k: v[b].cpu() for k, v in tensors.items()} for b in range(size)]
    rows = first_rows(subject.trainer.train_dataset, NUM_ROWS)
    return [row for row in rows if isinstance(row, Mapping) and "input_ids" in row]


def _mask_of(row: Mapping, ids: Tensor) -> tuple[str, Tensor]:
    """The column that says what is learnt, and which tokens are; labels count as one."""
    for name in MASKS:
        if name in row and len(row[name]) == len(ids):
            return name, torch.as_tensor(row[name]).bool()
    labels = torch.as_tensor(row.get("labels", ()))
    is_of_tokens = labels.shape == ids.shape and bool(((labels == ids) | (labels == NONE)).all())
    return ("labels", labels != NONE) if is_of_tokens else ("", ids)


def _is_off(subject: Subject, name: str) -> bool:
    holders: tuple[Any, ...] = (subject.args, getattr(subject.trainer, "data_collator", None))
    return any(getattr(one, name, None) is False for one in holders)


def _text(subject: Subject, ids: Tensor) -> str:
    first = ids[:SHOWN].tolist()
    return quoted(subject.tokenizer.decode(first)) if subject.tokenizer else str(first)
