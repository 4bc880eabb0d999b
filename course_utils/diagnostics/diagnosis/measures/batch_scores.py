"""Judges the scores of each row against the others of its batch, as contrastive losses take them.

Shape letters: N rows of scores.
"""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median_high
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.heard_losses import Heard
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

FEWEST = 4  # rows
LEAST, LARGEST = 0.3, 1.01  # of the largest cosine of a batch
PLAIN = "the scores that go into cross-entropy are cosines without a scale"
TWICE = 0.2  # of the columns
FARTHEST = 300.0  # the largest score of a softmax over the batch that can still be unsure


def once(sheet: Sheet, key: str, weight: float, *said: str, **more) -> None:
    if not any(one.key == key for one in sheet.found):
        sheet.find(key, weight, *said, **more)


def judge_batch_scores(call: Heard, subject: Subject, sheet: Sheet) -> None:
    """Each row against the others of its batch: other targets, empty vectors, another scale.

    Before the run of a Trainer plain cosines are a doubt, since it may rank well with them.
    """
    size = len(call.given)
    if call.given.dim() != 2 or call.given.shape[-1] < size or size < FEWEST:
        return
    scores, targets = call.given.float(), call.target.cpu()
    if not torch.equal(targets, torch.arange(size)):
        if scores.shape[-1] == size and torch.equal(targets.sort().values, torch.arange(size)):
            said = (
                f"the targets of {size} rows are {targets[:4].tolist()} and so on: others' places"
            )
            once(sheet, "pairs_misaligned", LIKELY, said, place="the targets of the loss")
        return
    _empty(scores, sheet)
    if call.is_of_lengths:
        _scale(scores, sheet)
    if float(scores.abs().max()) <= LARGEST:
        least = math.log(1 + (scores.shape[1] - 1) * math.exp(-2))
        said = f"the scores lie between {float(scores.min()):.2g} and {float(scores.max()):.2g}"
        more = f"with cosines alone the loss of {size} rows never falls below {least:.2g}"
        if subject.trainer is not None and are_plain_cosines(scores):
            subject.has_plain_cosines = True
            sheet.doubt(f"{PLAIN} ({said}): {more}")
        else:
            once(sheet, "similarity_unscaled", LIKELY, said, more, place="temperature, scale")


def are_plain_cosines(scores: Tensor) -> bool:
    """Whether the largest score of the batch is that of a cosine, and of none made smaller."""
    return LEAST < float(scores.abs().max()) <= LARGEST


def _scale(scores: Tensor, sheet: Sheet) -> None:
    """Cosines times a scale: their largest is the scale, as each text is nearest to itself."""
    largest = float(scores.abs().max())
    if largest < FARTHEST:
        return
    said = f"the scores lie between {float(scores.min()):.3g} and {float(scores.max()):.3g}"
    more = "the softmax over the batch gives one text everything, and the others no gradient"
    once(sheet, "similarity_scaled_too_far", LIKELY, said, more, place="temperature, scale")


def _empty(scores: Tensor, sheet: Sheet) -> None:
    """Columns of zeros: the vectors of those rows are no text's."""
    empty = _num_empty(scores)
    if empty < 2 or _share_of_copies(scores) < TWICE:
        return
    once(
        sheet,
        "rows_pooled_wrong",
        COUNTED,
        f"{empty} of {scores.shape[1]} rows of the batch have a score of 0 with every other",
        place="the token, or the mask, from which a row's vector is made",
        why="the vectors of some rows are 0: they are read where padding stands, or from no token",
        advice="with padding on the left read the last position (hidden[:, -1]); with padding on "
        "the right the position mask.sum(1) - 1",
    )


def copies_in(given: Any, target: Any) -> float | None:
    """The share of the columns of scores that are copies of another: one text several times.

    None of other scores than those of each row against the others of its batch.
    """
    if not isinstance(given, Tensor) or not isinstance(target, Tensor) or given.dim() != 2:
        return None
    size = len(given)
    if not FEWEST <= size <= given.shape[1] or target.tolist() != list(range(size)):
        return None
    return None if _num_empty(given) > 1 else _share_of_copies(given)


def judge_copies(shares: Sequence[float | None], sheet: Sheet) -> None:
    """Judge batches as a run has them: in a file, rows of one text may stand side by side."""
    known = [share for share in shares if share is not None]
    if not known or (share := median_high(known)) < TWICE:
        return
    said = f"{share:.0%} of the columns of scores are copies of another one, in the median of "
    said += f"{len(known)} batches"
    once(sheet, "positives_twice", COUNTED, said, place="the rows of one batch")


def _share_of_copies(scores: Tensor) -> float:
    columns = Counter(tuple(column) for column in scores.T.tolist())
    return sum(n - 1 for n in columns.values()) / scores.shape[1]


def _num_empty(scores: Tensor) -> int:
    return int((scores == 0).all(0).sum())
