"""Looks at pairs after the run: whether the chosen replies were lost while the margin grew.

That both log-probs fall is usual in DPO and no fault: what counts is whether the chosen reply still
is what the model gives by itself, where it was before. Shape letters: R rows, T tokens.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.batch_view.rows import first_rows, unchanged
from course_utils.diagnostics.diagnosis.measures.forward import evaluated, outputs_of
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import WORSE
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, Subject
from course_utils.diagnostics.libraries.trainer import of_columns

KNOWN = 0.5  # of the chosen replies: were the model's own first choice, token by token
LOST = 0.1  # and of all: are so no more
NUM_PAIRS = 32  # that are looked at
FEWEST = 8  # pairs, to speak of a share
FAR_TOO_HIGH = 1e-3  # a rate, with AdamW
FIX = "add the likelihood of the chosen replies: loss_type=['sigmoid', 'sft']; or fewer steps"


def look_at_displaced(subject: Subject, sheet: Sheet) -> None:
    """Compare the replies of the first pairs in the trained policy and in its reference."""
    other = subject.reference
    if subject.kind != PAIRS or not subject.has_ended or not isinstance(other, nn.Module):
        return
    rows = _first_pairs(subject.trainer)
    if not isinstance(rows, Mapping) or "completion_mask" not in rows:
        return
    (now, first), (then, before) = (_replies(model, rows) for model in (subject.model, other))
    n = len(first) // 2
    fell = [(now - then)[half].mean().item() for half in (slice(0, n), slice(n, 2 * n))]
    out = ~rows["completion_mask"][:n, 1:].bool().cpu()
    has, had = (int((choice[:n] | out).all(1).sum()) for choice in (first, before))
    said = f"chosen {fell[0]:+.2g}, rejected {fell[1]:+.2g} nats a reply since the reference"
    if n < FEWEST or max(fell) >= 0 or had < KNOWN * n or had - has < LOST * n:
        sheet.show("replies of the first pairs", said)
        return
    choice = f"the model would give {has} of {n} chosen replies by itself, and {had} before"
    sheet.became(WORSE, choice)
    rate = float(getattr(subject.args, "learning_rate", 0.0))
    if rate > FAR_TOO_HIGH and subject.steps_by_rate:
        _thrown_away(rate, (choice, said), sheet)
        return
    sheet.find(
        "margin_by_pushing_down",
        MEASURED,
        choice,
        said,
        place="loss_type, without a term for the chosen replies",
        why="the margin grew by pushing down both replies, and the chosen ones are lost with them",
        advice=FIX,
    )


def _thrown_away(rate: float, said: tuple[str, str], sheet: Sheet) -> None:
    sheet.find(
        "rate_too_high",
        MEASURED + 0.5,
        *said,
        place=f"learning_rate={rate:g}",
        why=f"the steps are far too long for DPO: at a rate of {rate:g} both replies of each pair "
        "lose, and with them what the model could do",
        advice="a rate of 1e-6 to 5e-6, or up to 1e-4 with an adapter or a very small model",
    )


def _first_pairs(trainer: Any) -> Any:
    """The first pairs of the data set as the run has them: chosen ones before rejected ones."""
    with unchanged(trainer.train_dataset, trainer.data_collator):
        rows = first_rows(trainer.train_dataset, NUM_PAIRS)
        return trainer.data_collator(of_columns(trainer, rows))


def _replies(model: nn.Module, rows: Mapping) -> tuple[Tensor, Tensor]:
    """The log-prob of each reply (R,), and which tokens are the first choice (R, T - 1)."""
    batch = {k: v for k, v in rows.items() if isinstance(v, Tensor)}
    with torch.no_grad(), evaluated(model):
        logits = outputs_of(model, batch)[:, :-1].float().cpu()
    ids, mask = rows["input_ids"][:, 1:].cpu(), rows["completion_mask"][:, 1:].cpu()
    logps = logits.log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    return (logps * mask).sum(-1), logits.argmax(-1) == ids
