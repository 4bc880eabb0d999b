"""Exercise 01.8: three runs that nobody has explained, one of them drawn by the seed."""

from collections.abc import Callable
from dataclasses import replace
from operator import index

import torch

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, names_the_cause
from course_utils.checks.compare import told_apart
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.watched_calls import watched
from course_utils.reproductions.lesson_01.unseen_01 import (
    Batch,
    Patient,
    attention_loss,
    compass,
    empty_row,
    reader,
    search,
)

SEEDS = (1, 2, 3)
MAX_RATIO = 20  # how often the largest gradient of the other rows an empty row's may be
NOTHING = 1e-6  # of the largest gradient: what rounding may leave of a 0
MAX_FACTOR = 2  # how much larger than the old ones loss and gradients of the other rows may be
SMALL = 0.06  # the size of the smallest row of a document that is not empty
LEARNED = 0.3  # the share of the first loss that is left after training


class _Variant(Variant):
    """One run; its place is the empty row and a line of the loss."""

    mend_is = "a loss function"

    @property
    def diagnosis(self) -> dict:
        row, line = self.place
        return {"row": row, "line": line, "cause": self.cause}

    def place_differs(self, unseen: dict) -> str | None:
        for key in ("row", "line"):
            if isinstance(unseen[key], bool) or not hasattr(unseen[key], "__index__"):
                return f"{key} is {unseen[key]!r}, where a whole number is asked"
        return None


class _Tried(Diagnosis):
    """What the reader says of a patient, with her loss watched for what it does."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        super().__init__(unseen, variant)
        self.patient, self.mend = variant.ticket, watched(self.fix)
        self.row, self.line = index(unseen["row"]), index(unseen["line"])


def _gradient(loss: Callable, outputs: torch.Tensor, rest: tuple):
    """The loss and the gradient of the model's outputs, or a sentence on what is missing."""
    leaf = outputs.clone().requires_grad_()
    value = loss(leaf, *rest)
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        return None, None, "the fixed loss is not a tensor of one number"
    if not value.requires_grad:
        return None, None, "the fixed loss has no graph, so nothing can learn from it"
    (gradient,) = torch.autograd.grad(value.sum(), leaf, allow_unused=True, materialize_grads=True)
    return value.detach(), gradient, None


def _outputs(patient: Patient, batch: Batch, seed: int) -> torch.Tensor:
    with torch.no_grad():
        return patient.model(seed)(batch.inputs)


def place_is_right(found: _Tried) -> str | None:
    patient, (empty, right_line) = found.patient, found.variant.place
    if found.row != empty:
        outputs = patient.outputs()
        _, gradient, _ = _gradient(patient.loss, outputs.detach(), patient.batch)
        if not 0 <= found.row < len(gradient):
            return f"there is no row {found.row}; they are counted from 0 to {len(gradient) - 1}"
        size = gradient[found.row].norm().item()
        return f"the gradient of row {found.row} is finite and of size {size:.2g}, as it should be"
    if found.line != right_line:
        return f"row {found.row} is right, but the bad number is not made in line {found.line}"
    return None


def _varied(patient: Patient, outputs: torch.Tensor, seed: int) -> torch.Tensor:
    """Outputs as a trained model may give them, row by row of another kind."""
    kinds = torch.arange(len(outputs)) + seed
    if patient.loss is attention_loss:  # scores, in every other row 20 times as large
        return torch.where((kinds % 2 == 0)[:, None], 20 * outputs, outputs)
    small, at_zero, cancelling = (kinds % 4 == kind for kind in range(3))
    outputs = outputs.clone()
    outputs[small] *= SMALL / outputs[small].norm(dim=-1, keepdim=True)
    outputs[at_zero, kinds[at_zero] // 4 % outputs.shape[1]] = 0.0
    outputs[cancelling, 1::2] = -outputs[cancelling, ::2]
    return outputs


def healthy_batches_stay(found: _Tried) -> str | None:
    patient = found.patient
    for seed, rows in ((21, 8), (22, 1), (23, 3), (24, 13)):
        batch = patient.make_batch(seed, rows=rows)
        outputs = _varied(patient, _outputs(patient, batch, seed), seed)
        value, gradient, problem = _gradient(found.mend, outputs, batch.rest)
        if problem:
            return problem
        want, want_gradient, _ = _gradient(patient.loss, outputs, batch.rest)
        given = f"for {rows} documents, none of them empty,"
        if not torch.isclose(value.to(want.dtype), want, rtol=1e-3, atol=1e-5):
            mine, right = told_apart(value.item(), want.item())
            return f"{given} the loss is {mine}, it should stay {right}"
        if not torch.allclose(gradient, want_gradient, rtol=1e-2, atol=1e-4):
            off = (gradient - want_gradient).abs().max().item()
            return f"{given} the loss is right and its gradient is off by {off:.2g}"
    return None


def gradient_is_bounded(found: _Tried) -> str | None:
    patient = found.patient
    for seed, empty in ((31, (empty_row(patient),)), (32, (0,)), (33, (1, 7))):
        batch = patient.make_batch(seed, empty=empty)
        outputs = _outputs(patient, batch, seed)
        value, gradient, problem = _gradient(found.mend, outputs, batch.rest)
        if problem:
            return problem
        given = f"with documents {list(empty)} empty"
        if not value.isfinite():
            return f"{given} the loss is {value.item()}"
        sizes = gradient.norm(dim=-1)
        if not sizes.isfinite().all():
            at = int((~sizes.isfinite()).nonzero()[0])
            return f"{given} the gradient of row {at} is {gradient[at].tolist()}"
        others = [size for row, size in enumerate(sizes.tolist()) if row not in empty]
        largest = sizes[list(empty)].max().item()
        told = f"{given} an empty row's gradient has size {largest:.2g}"
        if largest > MAX_RATIO * max(others):
            return f"{told}, the largest other {max(others):.2g}"
        if patient.loss is attention_loss and largest > NOTHING * max(others):
            return f"{told}; that row adds 0 to the old loss, so it should be 0"
    return None


def others_keep_their_gradient(found: _Tried) -> str | None:
    """Up to one factor: the mean may be taken over all documents or over the full ones."""
    patient = found.patient
    for seed, empty in ((41, (empty_row(patient),)), (42, (0,)), (43, (1, 7))):
        batch = patient.make_batch(seed, empty=empty)
        outputs = _outputs(patient, batch, seed)
        value, gradient, problem = _gradient(found.mend, outputs, batch.rest)
        if problem:
            return problem
        old_value, old, _ = _gradient(patient.loss, outputs, batch.rest)
        seen = _other_rows_differ(gradient, old, [r for r in range(len(old)) if r not in empty])
        if not -1e-5 <= value <= MAX_FACTOR * old_value:
            seen = f"the loss is {value.item():.4g}, the old one {old_value.item():.4g}"
        if seen:
            return f"with documents {list(empty)} empty, {seen}"
    return None


def _other_rows_differ(gradient, old, full: list[int]) -> str | None:
    mine, right = gradient[full].double(), old[full].double()
    factor = ((mine * right).sum() / right.square().sum()).item()
    if not 0 <= factor <= MAX_FACTOR:
        return f"the gradients of the other rows are {factor:.3g} times the old ones"
    error = (mine - factor * right).norm(dim=-1)
    wrong = error > 0.02 * factor * right.norm(dim=-1) + 1e-5
    if not wrong.any():
        return None
    at = full[int(wrong.nonzero()[0])]
    return f"row {at} has the gradient {_short(gradient[at])}, and had {_short(old[at])}"


def _short(row: torch.Tensor) -> list[float]:
    return [float(f"{number:.3g}") for number in row.tolist()]


def it_learns(found: _Tried) -> str | None:
    patient = found.patient
    _, _, problem = _gradient(found.mend, patient.outputs().detach(), patient.batch)
    if problem:
        return problem
    for seed in SEEDS:
        before = patient.true_loss(patient.model(seed), seed)
        after = patient.true_loss(patient.fit(found.mend, seed)[0], seed)
        if not after <= LEARNED * before:
            told = f"the loss of full documents goes from {before:.3g} to {after:.3g}"
            return f"trained from seed {seed}, {told}"
    return None


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
    tried=_Tried,
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
    variant = _Variant(patient, (empty_row(patient), line), cause)
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
