"""Asks a trained model of scores whether it knows more than which reply is longer."""

from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.all_pairs import (
    FEWEST,
    NEAR_A_COIN,
    TELLS_THEM,
    sides_of,
    told_by_length,
)
from course_utils.diagnostics.diagnosis.measures.forward import evaluated, outputs_of
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import SCORES, Subject

ASKED, LEARNT, MORE = 64, 0.9, 0.8  # pairs; of the pairs as they are; of those of one length


def look_at_one_length(subject: Subject, sheet: Sheet) -> None:
    """Pairs that their length tells apart, ranked again with both replies cut to one length."""
    sides = sides_of(getattr(subject.trainer, "train_dataset", None))
    if subject.kind != SCORES or not sides or len(sides[0]) < FEWEST:
        return
    said = told_by_length(sides)
    if not said or sheet.found:
        return
    pairs = [(list(a), list(b)) for a, b in zip(*sides, strict=True)][:ASKED]
    if _ranked(subject, pairs) < LEARNT:
        return
    right = _ranked(subject, [_of_one_length(*pair) for pair in pairs])
    told = f"cut to one length, {right:.0%} of {len(pairs)} pairs are ranked as they are labelled"
    if right <= NEAR_A_COIN:
        place = "train_dataset, chosen and rejected"
        sheet.find("length_tells", MEASURED, said, told, place=place)
    elif right >= MORE:
        sheet.doubts = [one for one in sheet.doubts if one != f"{said}{TELLS_THEM}"]
        sheet.show("pairs of one length", told)


def _of_one_length(one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
    """Two replies, the longer one cut before its last token.

    >>> _of_one_length([1, 2, 3, 4, 9], [1, 5, 9])
    ([1, 2, 9], [1, 5, 9])
    """
    size = min(len(one), len(other))
    cut = (ids if len(ids) == size else [*ids[: size - 1], ids[-1]] for ids in (one, other))
    return next(cut), next(cut)


def _ranked(subject: Subject, pairs: list[tuple[list[int], list[int]]]) -> float:
    """The share of pairs whose first one gets the higher score."""
    with evaluated(subject.model):
        scores = [
            outputs_of(subject.model, _batch(subject, side))[:, 0]
            for side in zip(*pairs, strict=True)
        ]
    return float((scores[0] > scores[1]).double().mean())


def _batch(subject: Subject, rows: Any) -> dict[str, Tensor]:
    """Rows as a batch (B, T), padded on the right."""
    pad = getattr(subject.tokenizer, "pad_token_id", None) or 0
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": mask}
