"""`audit_step` and `audit_policy`: diagnose a single step, or a single batch of replies."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.front import subject_of
from course_utils.diagnostics.diagnosis.judges.policy import judge_numbers, judge_policy
from course_utils.diagnostics.diagnosis.judges.steps import judge_steps
from course_utils.diagnostics.diagnosis.measures.policy_numbers import PolicyNumbers, policy_numbers
from course_utils.diagnostics.diagnosis.measures.pricing import Prices, prices
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back, train_some
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.watches.policy import Replies
from course_utils.diagnostics.diagnosis.watches.steps import StepNumbers, Steps
from course_utils.diagnostics.libraries.trl import samples_replies
from course_utils.diagnostics.nonfinite.batches import keep
from course_utils.diagnostics.one_step import require_loss
from course_utils.errors import BadRequest
from course_utils.shown.report import Table
from course_utils.shown.wrap import wrapped


@dataclass(frozen=True)
class Audit(Diagnosis):
    """A diagnosis of one step or one batch of replies, with its `numbers`."""

    numbers: dict[str, float | str] | None = None

    def table(self) -> Table:
        found = super().table()
        rows = [("number", name, _short(value), "") for name, value in (self.numbers or {}).items()]
        return Table(columns=found.columns, rows=[*found.rows, *rows], notes=found.notes)

    def text(self) -> str:
        numbers = [f"{name} {_short(value)}" for name, value in (self.numbers or {}).items()]
        said = [wrapped(f"numbers: {'; '.join(numbers)}")] if numbers else []
        return "\n".join([super().text(), *said])

    def to_dict(self) -> dict:
        return super().to_dict() | {"numbers": self.numbers}


def audit_step(
    source: Any,
    batch: Any = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    loss: Callable[[Any, Any], Tensor] | None = None,
) -> Audit:
    """Take one optimizer step, count what it did, and put everything back.

    Args:
        source: a Trainer, which takes a step as it does in training; or a model.
        batch, optimizer: for a model, one batch and the optimizer of the loop.
        loss: for a model that does not return its loss: a function of model and batch.

    Returns:
        `numbers`: lr, grad_norm, share_moved (of the weights), largest_update (rms of the update
        by rms of the weights), num_without_grad, num_zero_grad.

    Raises:
        BadRequest: a model without a batch or an optimizer.
    """
    subject = subject_of(source, **({} if batch is None else {"batch": batch, "loss": loss}))
    steps, sheet = Steps(subject.model), Sheet()
    if subject.trainer is None and (batch is None or optimizer is None):
        raise BadRequest(
            "a model alone takes no step",
            why="a step needs a batch and the optimizer that holds the weights",
            fix="call audit_step(model, batch, optimizer, loss=...), or audit_step(trainer)",
        )
    subject.optimizer = optimizer or subject.optimizer
    with put_back(subject), steps.counting():
        if subject.trainer is not None:
            train_some(subject.trainer, 1)
        else:
            optimizer.zero_grad()
            require_loss(subject.target.loss_of(keep(batch))).backward()
            optimizer.step()
    judge_steps(subject, steps, sheet, num_counted=1)
    taken = asdict(steps.numbers[-1]) if steps.numbers else {}
    numbers = {name: value for name, value in taken.items() if value is not None}
    return _audit(f"one step of {subject.name}", sheet, numbers)


def audit_policy(source: Any = None, *, group: int | None = None, **tensors: Tensor) -> Audit:
    """Judge one batch of replies: its probabilities on each side, and what it teaches.

    Args:
        source: a GRPOTrainer, which samples one batch for it; everything is put back.
        group: without a Trainer: replies to a prompt, which stand next to each other.
        tensors: without a Trainer: `mask` (N, T) and what is known of `logps`, `sampler_logps`,
            `reference_logps`, `entropies` (N, T), `advantages` (N,) or (N, T), `ended` (N,).

    Returns:
        `numbers`, under the names of `PolicyNumbers`.

    Raises:
        BadRequest: neither a GRPOTrainer nor a mask.
    """
    sheet = Sheet()
    if source is None and "mask" in tensors:
        found = policy_numbers(group=group, **tensors)
        judge_numbers([found], sheet, scale="group" if group else "", group=group)
        return _audit("one batch of replies", sheet, found.to_dict())
    if not samples_replies(source):
        raise BadRequest(
            f"{type(source).__name__} samples no replies",
            why="a policy is judged by replies and the probabilities of their tokens",
            fix="give a GRPOTrainer, or mask=, logps=, sampler_logps=, advantages=, group=",
        )
    subject, replies = subject_of(source), Replies(source)
    with put_back(subject), replies.reading():
        train_some(source, 1)
    judge_policy(subject, replies, sheet)
    first = replies.numbers[0] if replies.numbers else PolicyNumbers(0)
    if first.share_no_signal == 1:
        with sheet.trying("what the reward pays for"), put_back(subject):
            _one_price(prices(source), sheet)
    return _audit(f"the replies of {subject.name}", sheet, first.to_dict())


def _one_price(found: list[Prices], sheet: Sheet) -> None:
    """One batch without a signal is chance, unless the rewards depend on no text at all."""
    counted = [one for one in found if one.weight]
    if not counted or not all(one.is_flat for one in counted):
        return
    names = ", ".join(one.name for one in counted)
    sheet.find(
        "no_signal",
        COUNTED,
        "100% of the groups have advantages that are all 0",
        place=names,
        why=f"{names} gives every text of a row the same, the row's own answer included",
        advice="let the reward function score the completion",
    )


def _audit(what: str, sheet: Sheet, numbers: dict) -> Audit:
    done = Diagnosis.of(what, sheet)
    return Audit(**vars(done), numbers=numbers)


def _short(value: float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


__all__ = ["Audit", "StepNumbers", "audit_policy", "audit_step"]
