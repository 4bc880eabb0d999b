"""Looks at packed rows: the loss of each document in its row and alone.

Shape letters: T tokens, V vocabulary.
"""

from collections.abc import Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.forward import evaluated, outputs_of
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

MAX_ROWS = 2
HEAD = 2  # ids by which a document is recognised: those that the first row begins with
APART = 0.05  # nats per token
LEAK = "packing_leak"


@speaks_for(Loss.NEXT_TOKEN)
def look_at_packing(subject: Subject, sheet: Sheet) -> None:
    """Compare the loss of documents in their row and alone, where they see each other.

    That is a fault where it raises the loss: a model that learns texts end to end reads them so.
    """
    if LEAK not in sheet.hints and not any(one.key == LEAK for one in sheet.found):
        return
    with sheet.trying("documents alone"), evaluated(subject.model):
        _compare(subject.model, subject.batch, sheet, is_drawn=subject.is_drawn)


def _compare(model: nn.Module, batch: Mapping, sheet: Sheet, *, is_drawn: bool) -> None:
    packed, alone, count = [], [], 0
    head = batch["input_ids"][0, :HEAD].tolist()
    for b in range(min(MAX_ROWS, len(batch["input_ids"]))):
        row = {k: v[b : b + 1] for k, v in batch.items() if isinstance(v, Tensor) and v.dim() == 2}
        starts = _starts(row["input_ids"][0].tolist(), head)
        together = _losses(outputs_of(model, row)[0], row["labels"][0])
        for start, end in pairwise([*starts, row["input_ids"].shape[1]]):
            ids, labels = (row[name][0, start:end] for name in ("input_ids", "labels"))
            if start and end - start > 1:
                apart = _losses(outputs_of(model, {"input_ids": ids[None]})[0], labels)
                keep = labels[1:] != -100
                packed.append(together[start : end - 1][keep])
                alone.append(apart[keep])
                count += 1
    if not packed:
        sheet.miss("documents alone", "no row holds two documents that begin as the first row does")
        return
    inside, outside = (float(torch.cat(losses).mean()) for losses in (packed, alone))
    said = f"loss {inside:.3g} in their rows, {outside:.3g} alone"
    if inside - outside > APART and not is_drawn:  # weights that are drawn read nothing yet
        of = f"{count} documents behind the first of a row"
        why, fix = sheet.hints.get(LEAK, ("", ""))[:2]
        said = f"the same tokens of {of}: {said}"
        sheet.find(LEAK, MEASURED, said, place="packing, position_ids", why=why, advice=fix)
    else:
        sheet.show("documents alone", said)


def _starts(ids: list[int], head: list[int]) -> list[int]:
    return [at for at in range(len(ids) - 1) if ids[at : at + HEAD] == head]


def _losses(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross entropy of every label except the first, (T - 1,), from logits (T, V)."""
    return nn.functional.cross_entropy(
        logits[:-1], labels[1:].to(logits.device).clamp_min(0), reduction="none"
    )
