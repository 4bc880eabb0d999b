"""The loss of the first rows, taken once more: of which places it learns, what its modules read.

Shape letters: B rows, T tokens, V vocabulary.
"""

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.forward import logits_in
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.nonfinite.batches import keep
from course_utils.diagnostics.nonfinite.targets import loss_in
from course_utils.diagnostics.one_step import open_model


def take_loss(subject: Subject) -> Tensor | None:
    """The loss with its graph, inside `put_back`; None where it cannot be computed."""
    with suppress(Exception):  # a loss of one's own may ask for more than the first rows
        opened = open_model(subject.trainer or subject.model, subject.loss_of)
        return loss_in(opened.loss_of(keep(subject.batch)))
    return None


def learnt_places(subject: Subject) -> Tensor | None:
    """Which places (B, T) have logits to which the loss gives a gradient.

    None where that is not known: the loss does not take the logits that the model returns.
    """
    given: list[Tensor] = []

    def hear(_module: nn.Module, _args: tuple, output: Any) -> None:
        parts = output if isinstance(output, tuple) else (logits_in(output),)
        given.extend(one for one in parts if isinstance(one, Tensor) and one.dim() == 3)

    handle = subject.model.register_forward_hook(Hook(hear))
    try:
        with put_back(subject), suppress(Exception):
            loss = take_loss(subject)
            if loss is not None and given:
                [grad_BTV] = torch.autograd.grad(loss, given[:1])
                return (grad_BTV != 0).any(-1).cpu()
    finally:
        handle.remove()
    return None


def reads_the_model(held: nn.Module, subject: Subject) -> bool:
    """Whether the loss gives another module what the trained model returns, as a part of the loss
    gets it; a reference reads the rows."""
    given: list[Any] = []
    hear = Hook(lambda _module, args, kwargs: given.extend((*args, *kwargs.values())))
    handle = held.register_forward_pre_hook(hear, with_kwargs=True)
    try:
        with put_back(subject):
            take_loss(subject)
    finally:
        handle.remove()
    return any(isinstance(one, Tensor) and one.requires_grad for one in given)
