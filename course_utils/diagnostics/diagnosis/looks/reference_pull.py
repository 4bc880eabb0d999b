"""Looks at a loop's own loss: whether the reference that moves its value moves its gradient."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.nonfinite.batches import keep

COLUMN = re.compile(r"ref(erence)?_.*log_?p(rob)?s?")
SHIFT = 0.5  # nats by which the reference is moved, up and down by turns
SAME = 1e-6  # of the gradient: what rounding leaves


def look_at_reference_pull(subject: Subject, sheet: Sheet) -> None:
    """Move the reference's log-probs a little, and compare value and gradient of the loss.

    A KL term whose value changes while no gradient does holds nothing back.
    """
    if subject.trainer is not None or subject.loss_of is None:
        return
    if not isinstance(subject.batch, Mapping):
        return
    column = next((name for name in subject.batch if COLUMN.fullmatch(str(name))), "")
    if not column and not isinstance(subject.reference, nn.Module):
        return
    with put_back(subject):
        before, pull = _value_and_gradient(subject, subject.batch)
        if column:
            values = subject.batch[column]
            after, moved = _value_and_gradient(
                subject, {**subject.batch, column: values + _shift(values)}
            )
        else:
            with _moved(subject.reference):
                after, moved = _value_and_gradient(subject, subject.batch)
    if not float(pull.norm()) or not bool((pull - moved).isfinite().all()) or after == before:
        return
    change = float((moved - pull).norm() / pull.norm())
    said = f"the loss goes from {before:.4g} to {after:.4g}, and its gradient moves by {change:.1g}"
    if change > SAME:
        sheet.clear("pull of the reference", f"{said} of its length")
        return
    sheet.find(
        "kl_without_effect",
        MEASURED,
        f"with the reference's log-probs moved by {SHIFT:g} nats {said} of its length",
        place=f"the KL term, {column or 'reference'}",
        why="the KL to the reference is a number in the loss without a gradient: no_grad or "
        "detach stands between it and the policy",
        advice="compute the KL term from the log-probs of the policy that carry the graph; only "
        "the reference's are under no_grad",
    )


def _value_and_gradient(subject: Subject, batch: Mapping) -> tuple[float, Tensor]:
    """The loss of a batch and all gradients as one vector; dropout draws the same each time."""
    subject.model.zero_grad()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(0)
        loss = subject.loss_of(keep(batch))
    loss.backward()
    grads = [p.grad.detach().flatten() for p in subject.model.parameters() if p.grad is not None]
    return float(loss.detach()), torch.cat(grads).double() if grads else torch.zeros(1)


def _shift(values: Tensor) -> Tensor:
    """Up and down by turns, so that no mean hides it."""
    signs = torch.arange(values.numel(), device=values.device) % 2 * 2 - 1
    return SHIFT * signs.reshape(values.shape).to(values.dtype)


@contextmanager
def _moved(reference: nn.Module) -> Iterator[None]:
    """In the block, the logits of the reference are others."""

    def move(_module: nn.Module, _args: tuple, output: Any) -> Any:
        if hasattr(output, "logits"):
            output.logits = output.logits + _shift(output.logits)
            return output
        return output + _shift(output) if isinstance(output, Tensor) else output

    handle = reference.register_forward_hook(move)
    try:
        yield
    finally:
        handle.remove()
