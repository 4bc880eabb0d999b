"""Asks a trained model of scores whether it knows more than which reply is longer."""

from collections.abc import Iterable

import torch
from torch.nn.utils.rnn import pad_sequence

from course_utils.diagnostics.diagnosis.looks.told_apart import (
    FEWEST,
    NEAR_A_COIN,
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
    if subject.kind != SCORES or not sides or len(sides[0]) < FEWEST or sheet.found:
        return
    pairs = [(list(a), list(b)) for a, b in zip(*sides, strict=True)][:ASKED]
    said = told_by_length(sides)
    if not said or _ranked(subject, pairs) < LEARNT:
        return
    right = _ranked(subject, [_of_one_length(*pair) for pair in pairs])
    told = f"cut to one length, {right:.0%} of {len(pairs)} pairs are ranked as they are labelled"
    if right <= NEAR_A_COIN:
        place = "train_dataset, chosen and rejected"
        sheet.find("length_tells", MEASURED, said, told, place=place)
    elif right >= MORE:
        sheet.settle(said)
        sheet.show("pairs of one length", told)


def _of_one_length(one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
    """Two replies, the longer one cut before its last token.

    >>> _of_one_length([1, 2, 3, 4, 9], [1, 5, 9])
    ([1, 2, 9], [1, 5, 9])
    """
    size = min(len(one), len(other))
    first, second = (
        ids if len(ids) == size else [*ids[: size - 1], ids[-1]] for ids in (one, other)
    )
    return first, second


def _ranked(subject: Subject, pairs: list[tuple[list[int], list[int]]]) -> float:
    """The share of pairs whose first one gets the higher score."""
    with evaluated(subject.model):
        chosen, rejected = (_scores(subject, side) for side in zip(*pairs, strict=True))
    return float((chosen > rejected).double().mean())


def _scores(subject: Subject, rows: Iterable[list[int]]) -> torch.Tensor:
    """The scores (B,) of rows, padded on the right."""
    pad = getattr(subject.tokenizer, "pad_token_id", None) or 0
    tensors = [torch.tensor(row) for row in rows]
    batch = {
        "input_ids": pad_sequence(tensors, batch_first=True, padding_value=pad),
        "attention_mask": pad_sequence([torch.ones_like(row) for row in tensors], batch_first=True),
    }
    return outputs_of(subject.model, batch)[:, 0]
