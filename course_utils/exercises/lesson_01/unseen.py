"""Exercise 01.8: three runs that nobody has explained, one of them drawn by the seed."""

from collections.abc import Callable
from dataclasses import replace

import torch

from course_utils.checks.broken_script import Asked, names_the_cause
from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_01.unseen_looks import (
    LEARNED,
    MAX_FACTOR,
    MAX_RATIO,
    OfARow,
    Tried,
    gradient_is_bounded,
    healthy_batches_stay,
    it_learns,
    others_keep_their_gradient,
    place_is_right,
)
from course_utils.reproductions.lesson_01.unseen_01 import (
    Patient,
    compass,
    empty_row,
    reader,
    search,
)

ASKED = Asked(
    id="01.8",
    minutes=15,
    difficulty="a diagnosis and a fixed loss",
    points=6,
    hints=(
        "Take the gradient of the outputs, patient.outputs(), and print its size row by row. "
        "Which row differs from the others, and what is special about its document?",
    ),
    diagnosis=(
        Criterion(
            "Row and line are those in which the bad number is made.",
            place_is_right,
            why="one row of a batch is enough to spoil every weight",
            next="print value and gradient of that row after each line of the loss",
        ),
        Criterion(
            "The cause is what makes the first nan there, or the first gradient far too large.",
            names_the_cause,
            why="each cause has a fix of its own",
            next="put the number 0, or the empty row, into that line by hand",
        ),
    ),
    mended=(
        Criterion(
            "Without an empty document the fixed loss is the old one, in value and gradient.",
            healthy_batches_stay,
            why="a fix must not change what was right",
            next="compare with patient.loss on rows that are not empty",
        ),
        Criterion(
            f"With empty documents every gradient is finite, and none of theirs is more than "
            f"{MAX_RATIO} times the largest other, nor above 0 if its row adds 0 to the old loss.",
            gradient_is_bounded,
            why="one step with a nan destroys every weight, and so does one with a gradient of 1e7",
            next="make the empty row harmless before the operation, or leave it out",
        ),
        Criterion(
            f"With empty documents the other rows' gradients are the old ones, up to one factor, "
            f"and loss and factor are at most {MAX_FACTOR} times the old.",
            others_keep_their_gradient,
            why="an empty document says nothing about the others",
            next="print the gradients of patient.loss and of your loss side by side",
        ),
        Criterion(
            f"Trained with it, the old loss of full documents falls to {LEARNED:.0%} or less, "
            "from three seeds.",
            it_learns,
            why="a loss that cannot break and cannot teach is no fix",
            next="print patient.train(your_loss)",
        ),
    ),
    tried=Tried,
    time_limit_s=30.0,
)


def search_with_a_harmless_row(x, y):
    is_empty = x.eq(0).all(-1)
    safe = torch.where(is_empty[:, None], 1.0, x)
    cosine = (x * y).sum(-1) / (safe.square().sum(-1).sqrt() * y.norm(dim=-1))
    return (1 - cosine).mean()


def reader_with_a_finite_mask(scores, allowed, values, target):
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~allowed, lowest).softmax(-1)
    error = (weights @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def compass_with_a_harmless_row(x, y):
    is_empty = x.eq(0).all(-1, keepdim=True)
    size = torch.where(is_empty, 1.0, x).norm(dim=-1, keepdim=True)
    unit = torch.where(is_empty, 0.0, x / size)
    return (unit - y / y.norm(dim=-1, keepdim=True)).square().sum(-1).mean()


def _on(
    patient: Patient, line: int, cause: str, title: str, mend: Callable, hints: tuple
) -> Exercise:
    variant = OfARow(patient, (empty_row(patient), line), cause)
    return ASKED.on(variant, title, mend=mend, hints=hints)


SEARCH = _on(
    search(),
    3,
    "c",
    "An unseen run: Search",
    search_with_a_harmless_row,
    (
        "In line 3 of the loss, what is the derivative of the last operation for a row of zeros, "
        "and what does the backward pass multiply it by?",
        "As in exercise 01.2: put harmless numbers into that row before the operation, and use the "
        "true row where it does no harm. Or average over the other rows.",
    ),
)
READER = _on(
    reader(),
    4,
    "d",
    "An unseen run: Reader",
    reader_with_a_finite_mask,
    (
        "The loss is finite because line 8 chooses. What are the weights of that row, and in "
        "which line do they stop being numbers?",
        "Use a large finite number in place of -inf to forbid. Or allow that row everything and "
        "leave its error out, as the loss does now.",
    ),
)
COMPASS = _on(
    compass(),
    5,
    "e",
    "An unseen run: Compass",
    compass_with_a_harmless_row,
    (
        "Nothing is nan, and one gradient is 1e7. What is the derivative of x / (size + eps) where "
        "x and size are 0?",
        "Give the empty row a size that is not near 0, in a torch.where before the division, or "
        "bound the size from below.",
    ),
)
UNSEEN = replace(SEARCH, also=(READER, COMPASS))
