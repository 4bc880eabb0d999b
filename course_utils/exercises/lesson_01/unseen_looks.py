"""The observations behind exercise 01.8: the diagnosis, and the loss with its fix."""

from collections.abc import Callable
from operator import index

import torch

from course_utils.checks.broken_script import Diagnosis, Variant
from course_utils.checks.compare import told_apart
from course_utils.checks.watched_calls import watched
from course_utils.reproductions.lesson_01.unseen_01 import (
    Batch,
    Patient,
    attention_loss,
    empty_row,
)

SEEDS = (1, 2, 3)
MAX_RATIO = 20  # how often the largest gradient of the other rows an empty row's may be
NOTHING = 1e-6  # of the largest gradient: what rounding may leave of a 0
MAX_FACTOR = 2  # how much larger than the old ones loss and gradients of the other rows may be
SMALL = 0.06  # the size of the smallest row of a document that is not empty
LEARNED = 0.3  # the share of the first loss that is left after training


class OfARow(Variant):
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


class Tried(Diagnosis):
    """What the reader says of a patient, with her loss watched for what it does."""

    def __init__(self, unseen: dict, variant: OfARow) -> None:
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


def place_is_right(found: Tried) -> str | None:
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


def healthy_batches_stay(found: Tried) -> str | None:
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


def gradient_is_bounded(found: Tried) -> str | None:
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


def others_keep_their_gradient(found: Tried) -> str | None:
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


def it_learns(found: Tried) -> str | None:
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
