"""Looks at packed rows: the loss of each document in its row and alone.

Shape letters: T tokens, V vocabulary.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.forward import evaluated, outputs_of
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

MAX_ROWS = 2
HEAD = 2  # ids by which a document is recognised: those that the first row begins with
APART = 0.05  # nats per token


def look_at_packing(subject: Subject, sheet: Sheet) -> None:
    """Compare the loss of documents in their row and alone, once packing is known to leak."""
    if not any(one.key == "packing_leak" for one in sheet.found):
        return
    with sheet.trying("documents alone"), evaluated(subject.model):
        _compare(subject.model, subject.batch, sheet)


def _compare(model: nn.Module, batch: Mapping, sheet: Sheet) -> None:
    packed, alone, count = [], [], 0
    head = batch["input_ids"][0, :HEAD].tolist()
    for b in range(min(MAX_ROWS, len(batch["input_ids"]))):
        row = {k: v[b : b + 1] for k, v in batch.items() if isinstance(v, Tensor) and v.dim() == 2}
        starts = _starts(row["input_ids"][0].tolist(), head)
        together = _losses(outputs_of(model, row)[0], row["labels"][0])
        for start, end in zip(starts[1:], [*starts[2:], row["input_ids"].shape[1]], strict=True):
            ids, labels = (row[name][0, start:end] for name in ("input_ids", "labels"))
            if end - start > 1:
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
    if abs(inside - outside) > APART:
        of = f"{count} documents behind the first of a row"
        sheet.find("packing_leak", MEASURED, f"the same tokens of {of}: {said}")
    else:
        sheet.show("documents alone", said)


def _starts(ids: list[int], head: list[int]) -> list[int]:
    return [at for at in range(len(ids) - 1) if ids[at : at + HEAD] == head]


def _losses(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross entropy of every label except the first, (T - 1,), from logits (T, V)."""
    return nn.functional.cross_entropy(
        logits[:-1], labels[1:].to(logits.device).clamp_min(0), reduction="none"
    )
