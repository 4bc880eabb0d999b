"""Judges the scores of each row against the others of its batch, as contrastive losses take them.

Shape letters: N rows of scores.
"""

import math
from collections import Counter

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.heard_losses import Heard
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet

FEWEST = 4  # rows
TWICE = 0.2  # of the columns
FARTHEST = 300.0  # the largest score of a softmax over the batch that can still be unsure


def once(sheet: Sheet, key: str, weight: float, *said: str, **more) -> None:
    if not any(one.key == key for one in sheet.found):
        sheet.find(key, weight, *said, **more)


def judge_batch_scores(call: Heard, sheet: Sheet) -> None:
    """Each row against the others of its batch: copies of a positive, scores without a scale."""
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
    columns = Counter(tuple(column) for column in scores.T.tolist())
    share = sum(n - 1 for n in columns.values()) / scores.shape[1]
    if share >= TWICE:
        _copies(share, scores, sheet)
    _scale(scores, sheet)
    if float(scores.abs().max()) <= 1.01:
        least = math.log(1 + (scores.shape[1] - 1) * math.exp(-2))
        said = f"the scores lie between {float(scores.min()):.2g} and {float(scores.max()):.2g}"
        more = f"with cosines alone the loss of {size} rows never falls below {least:.2g}"
        once(sheet, "similarity_unscaled", LIKELY, said, more, place="temperature, scale")


def _scale(scores: Tensor, sheet: Sheet) -> None:
    """Cosines times a scale: their largest is the scale, as each text is nearest to itself."""
    largest = float(scores.abs().max())
    if largest < FARTHEST:
        return
    said = f"the scores lie between {float(scores.min()):.3g} and {float(scores.max()):.3g}"
    more = "the softmax over the batch gives one text everything, and the others no gradient"
    once(sheet, "similarity_scaled_too_far", LIKELY, said, more, place="temperature, scale")


def _copies(share: float, scores: Tensor, sheet: Sheet) -> None:
    """Equal columns: one text several times, or a column of zeros, whose vector is no text's."""
    said = f"{share:.0%} of the {scores.shape[1]} columns of scores are copies of another one"
    empty = int((scores == 0).all(0).sum())
    if empty < 2:
        once(sheet, "positives_twice", COUNTED, said, place="the rows of one batch")
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
