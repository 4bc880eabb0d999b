"""Looks at a loss of one's own beside the model's: its direction, its targets, its weights."""

from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.looks.split import has_labels
from course_utils.diagnostics.diagnosis.measures.forward import logits_in
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for
from course_utils.diagnostics.nonfinite.batches import keep
from course_utils.diagnostics.nonfinite.targets import loss_in
from course_utils.diagnostics.one_step import open_model

SLIGHT = 0.02  # of the gradient: what dropout and rounding leave
AGAINST, SAME = -0.3, 0.995  # cosines of the two gradients


@speaks_for(Loss.ROWS, Loss.TAGS, Loss.NEXT_TOKEN, Loss.HIDDEN_TOKENS, Loss.SEQ2SEQ)
def compare_own_loss(
    own: Tensor | None, drawn: Tensor, subject: Subject, sheet: Sheet, *, is_weighted: bool = False
) -> None:
    """Compare the gradient of a loss of one's own, of the first rows, with that of the model's.

    Args:
        own: the loss; `drawn`: the state of the random numbers before its pass, for dropout.
        is_weighted: whether it weighs the classes: it may then push a batch the other way.
    """
    if not subject.has_own_loss or not has_labels(subject.batch) or not subject.trainable():
        return
    gradient = _vector(own, subject)
    with put_back(subject):
        torch.set_rng_state(drawn)
        plain = getattr(subject.model(**subject.batch_at_model()), "loss", None)
        wanted = _vector(plain, subject) if isinstance(plain, Tensor) else None
    if gradient is None or wanted is None:
        return
    cosine = float(torch.cosine_similarity(gradient, wanted, dim=0))
    said = (
        f"the loss is {own.item():.3g}, the model's own on these rows {plain.item():.3g}; the "
        f"cosine of their gradients is {cosine:.2g}"
    )
    if cosine < AGAINST and not is_weighted:
        sheet.find("loss_against_labels", MEASURED, said, place="compute_loss")
    elif (
        cosine > SAME
        and (name := subject.second_model)
        and not _counts(name, gradient, drawn, subject)
    ):
        sheet.find("term_without_part", MEASURED, said, place=f"compute_loss, the term with {name}")
    else:
        sheet.show("the loss beside the model's own", said)


def _counts(name: str, gradient: Tensor, drawn: Tensor, subject: Subject) -> bool:
    """Whether the gradient is another one once that model's outputs are turned round.

    A teacher that agrees with the labels gives the gradient that they give. The loss itself may
    stay: a student that knows nothing is as far from the one as from the other.
    """

    def turned(_module: nn.Module, _args: tuple, output: Any) -> None:
        logits = logits_in(output)
        if isinstance(logits, Tensor):
            logits.data.copy_(logits.data.flip(-1))

    handle = subject.held_models[name].register_forward_hook(turned)
    try:
        with put_back(subject):
            torch.set_rng_state(drawn)
            loss = loss_in(open_model(subject.trainer, None).loss_of(keep(subject.batch)))
            now = _vector(loss, subject)
    finally:
        handle.remove()
    return now is not None and float((now - gradient).norm()) > SLIGHT * float(gradient.norm())


def _vector(loss: Tensor | None, subject: Subject) -> Tensor | None:
    weights = list(subject.trainable().values())
    if loss is None or not loss.requires_grad or loss.dim():
        return None
    grads = torch.autograd.grad(loss, weights, allow_unused=True)
    parts = [
        (torch.zeros_like(w) if g is None else g).flatten()
        for w, g in zip(weights, grads, strict=True)
    ]
    whole = torch.cat(parts).double()
    return whole if bool(whole.isfinite().all()) and bool(whole.any()) else None
