"""Looks at rows that position_ids alone keep apart, in a model with layers that have no positions.

Shape letters: T tokens, V vocabulary.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.looks.forward import HALF_SLACK, SLACK
from course_utils.diagnostics.diagnosis.measures.forward import TAKEN, evaluated, formats_of
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.gradient_flow.report import same_layers
from course_utils.diagnostics.loss_kind import Loss, speaks_for
from course_utils.diagnostics.reach.groups import RECURRENT, places

# What tells kernels where a row begins: a batch that holds them is run with them.
BOUNDARIES = ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", "seq_idx")
MOST = 8  # documents that are run alone


@speaks_for(Loss.NEXT_TOKEN)
def look_at_packed_state(subject: Subject, sheet: Sheet) -> None:
    """Compare the logits of packed rows with those of the same rows alone.

    Attention reads restarting positions; a state or a convolution does not.
    """
    batch = subject.batch
    spans = list(_behind_the_first(batch))[:MOST] if isinstance(batch, Mapping) else []
    recurrent = [one.name for one in places(subject.model, set()) if one.group == RECURRENT]
    if not spans or not recurrent:
        return
    with evaluated(subject.model), formats_of(subject.model) as formats:
        whole = _logits(subject.model, batch)
        apart = max(_apart(subject.model, batch, whole, *span) for span in spans)
    share = apart / (float(whole.std()) or 1.0)
    slack = max((SLACK.get(of, HALF_SLACK) for of in formats), default=SLACK[torch.float32])
    said = f"{share:.2g} of their spread"
    if share <= slack:
        sheet.clear("packed rows alone", f"logits up to {said} apart (fine: up to {slack:g})")
        return
    layer = same_layers(recurrent[0].rpartition(".")[0].rpartition(".")[0])
    boundaries = [name for name in BOUNDARIES if name in batch]
    sheet.find(
        "packed_state_leak",
        MEASURED,
        f"{len(spans)} packed rows behind the first: their logits differ from those of the same "
        f"rows alone by up to {said}",
        f"the batch says where a row begins by {', '.join(['position_ids', *boundaries])}",
        place=f"{layer}, position_ids",
    )


def _behind_the_first(batch: Mapping) -> Iterator[tuple[int, int, int]]:
    """Row, start and end of each document whose positions begin anew inside a row."""
    positions, ids = batch.get("position_ids"), batch.get("input_ids")
    if not isinstance(positions, Tensor) or not isinstance(ids, Tensor):
        return
    if positions.shape != ids.shape or positions.dim() != 2:
        return
    for b, row in enumerate(positions.tolist()):
        starts = [at for at in range(1, len(row)) if row[at] == 0 and row[at - 1] > 0]
        yield from ((b, start, end) for start, end in pairwise([*starts, len(row)]))


def _apart(model: nn.Module, batch: Mapping, whole: Tensor, b: int, start: int, end: int) -> float:
    alone = _logits(model, {"input_ids": batch["input_ids"][b : b + 1, start:end]})
    return float((alone[0] - whole[b, start:end]).abs().max())


def _logits(model: nn.Module, batch: Mapping) -> Tensor:
    """The logits (B, T, V) by everything that the batch says of its rows."""
    device = next(model.parameters()).device
    taken = {name: batch[name] for name in (*TAKEN, *BOUNDARIES) if name in batch}
    moved = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in taken.items()}
    return model(**moved).logits.float()
