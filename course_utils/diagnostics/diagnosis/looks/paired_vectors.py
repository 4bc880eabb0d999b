"""Looks at a loss of one's own on two vectors a row: whether those of a pair are the nearest.

Shape letters: B rows, D numbers of a vector.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.batch_scores import PLAIN, are_plain_cosines
from course_utils.diagnostics.diagnosis.measures.forward import evaluated
from course_utils.diagnostics.diagnosis.measures.heard_losses import HeardLosses, Listening
from course_utils.diagnostics.diagnosis.measures.one_loss import take_loss
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.measures.spread_rows import spread_out
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.libraries.trainer import prepared
from course_utils.diagnostics.one_step import open_model, training_step

FEWEST, SHORTEST = 4, 8  # rows; numbers of a vector
APART = 0.1  # of cosine
NEARLY_ALL = 0.9  # of the rows
RANKED, MOSTLY = 64, 0.85  # rows of one batch; of them
SAME = 1e-4  # of cosines: a text that stands in the batch twice


def look_at_paired_vectors(subject: Subject, sheet: Sheet) -> None:
    """After the run the two vectors of a row must be nearer to each other than to other rows'."""
    trainer = subject.trainer
    if trainer is None or not subject.has_ended or not subject.has_own_loss:
        return
    if not isinstance(subject.batch, Mapping):
        return
    vectors = _two_vectors(subject)
    if vectors is None or _are_of_two_kinds(subject.batch, len(vectors[0])):
        return
    one, other = (torch.nn.functional.normalize(side.float().cpu(), dim=-1) for side in vectors)
    cosines = one @ other.T
    own = cosines.diagonal()
    rest = (cosines.sum(1) - own) / (len(own) - 1)
    said = f"the cosine of a row's two vectors is {float(own.mean()):.2g}, of two rows' "
    said += f"{float(rest.mean()):.2g}"
    share = float((own < rest).double().mean())
    if float(rest.mean() - own.mean()) < APART or share < NEARLY_ALL:
        sheet.show("vectors of the pairs", said)
        return
    sheet.find(
        "pairs_inverted",
        MEASURED,
        f"{said}, behind the run",
        place="compute_loss: the sign of the similarities, near and far",
        why="the loss drives the two vectors of a pair apart and those of strangers together: a "
        "similarity stands where the formula has a distance, or near and far are exchanged",
        advice="a margin loss takes distances: relu(d(pair) - d(others) + margin), d = 1 - cosine",
    )


def look_at_ranking(subject: Subject, sheet: Sheet) -> None:
    """After a run with plain cosines in the softmax, each row must still be nearest to its own."""
    if not subject.has_plain_cosines or not subject.has_ended:
        return
    batch, heard = spread_out(subject.trainer, subject.trainer.train_dataset, RANKED), HeardLosses()
    with put_back(subject), Listening(heard):
        take_loss(replace(subject, batch=batch))
    shares = [
        float((one.given.diagonal() > one.given.amax(-1) - SAME).double().mean())
        for one in heard.calls
        if one.name == "cross_entropy" and one.given.dim() == 2 and are_plain_cosines(one.given)
    ]
    if not shares:
        return
    sheet.settle(PLAIN)
    said = f"{min(shares):.0%} of {len(heard.calls[0].given)} rows are nearest to their own text"
    if min(shares) >= MOSTLY:
        sheet.show("ranking", f"{said}, with cosines that have no scale")
        return
    key, place = "similarity_unscaled", "temperature, scale"
    sheet.find(key, MEASURED, f"{PLAIN}; {said} behind the run", place=place)


def _are_of_two_kinds(batch: Mapping, count: int) -> bool:
    """Whether each row has a label or a number, which may say that its two vectors are apart.

    Whole numbers of which none comes twice are those of the rows.
    """
    columns = (one for one in batch.values() if isinstance(one, Tensor) and one.numel() == count)
    return any(one.is_floating_point() or len(one.unique()) < count for one in columns)


def _two_vectors(subject: Subject) -> tuple[Tensor, Tensor] | None:
    """What the loss gives beside itself, where that is two vectors for each row."""
    trainer = subject.trainer
    with training_step(open_model(trainer)), torch.no_grad(), evaluated(subject.model):
        try:
            batch = prepared(trainer, subject.batch)
            _, outputs = trainer.compute_loss(subject.model, batch, return_outputs=True)
        except Exception:  # a loss of one's own need not give them
            return None
    sides = _named(outputs)
    if len(sides) != 2 or any("neg" in name.lower() for name in sides):
        return None
    one, other = sides.values()
    is_paired = one.shape == other.shape and one.dim() == 2 and one.is_floating_point()
    return (one, other) if is_paired and len(one) >= FEWEST and one.shape[1] >= SHORTEST else None


def _named(outputs: Any) -> dict[str, Tensor]:
    if isinstance(outputs, Mapping):
        return {str(k): v for k, v in outputs.items() if isinstance(v, Tensor)}
    is_several = isinstance(outputs, tuple | list)
    return {str(n): v for n, v in enumerate(outputs) if isinstance(v, Tensor)} if is_several else {}
