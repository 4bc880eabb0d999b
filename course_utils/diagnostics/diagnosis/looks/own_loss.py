"""Looks at a loss of one's own beside the model's: its direction, its targets, its weights."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.looks.settings import num_steps_of
from course_utils.diagnostics.diagnosis.looks.split import has_labels
from course_utils.diagnostics.diagnosis.looks.teacher import drawn_teachers
from course_utils.diagnostics.diagnosis.measures.data_sets import columns_of, labels_of
from course_utils.diagnostics.diagnosis.measures.forward import logits_in
from course_utils.diagnostics.diagnosis.measures.one_loss import take_loss
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

SLIGHT = 0.02  # of the gradient: what dropout and rounding leave
AGAINST, SAME = -0.3, 0.995  # cosines of the two gradients
LATER = 0.73  # of the run's steps: at a round share a weight in cycles may be 0 once more
UNLEARNS = re.compile(r"unlearn|forget|retain|ascent", re.IGNORECASE)


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
    rows = labels_of(getattr(subject.trainer, "train_dataset", None))
    if (subject.second_model and len(set(rows)) == 1) or drawn_teachers(subject):
        return  # a teacher has the labels, and these stand for none; or it has none to give
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
    if cosine < AGAINST and not is_weighted and not _unlearns(subject):
        sheet.find("loss_against_labels", MEASURED, said, place="compute_loss")
    elif cosine > SAME and (name := subject.second_model) and _never_counts(name, drawn, subject):
        sheet.find("term_without_part", MEASURED, said, place=f"compute_loss, the term with {name}")
    else:
        sheet.show("the loss beside the model's own", said)


def _unlearns(subject: Subject) -> bool:
    """Whether names say that rows are to be forgotten: of the Trainer, or of its columns."""
    data = getattr(subject.trainer, "train_dataset", None)
    names = (type(subject.trainer).__name__, *columns_of(data))
    return any(UNLEARNS.search(name) for name in names)


def loss_again(drawn: Tensor, subject: Subject) -> Tensor | None:
    """The loss of the first rows once more, inside `put_back`, with the same random numbers."""
    torch.set_rng_state(drawn)
    return take_loss(subject)


def loss_later(drawn: Tensor, subject: Subject) -> Tensor | None:
    """The same as if most of the Trainer's steps were taken: a term may gain its weight by then."""
    state, steps = subject.trainer.state, num_steps_of(subject)
    before = dict(vars(state))
    try:
        state.max_steps = state.max_steps or steps
        state.global_step = int(LATER * state.max_steps)
        state.epoch = LATER * subject.args.num_train_epochs
        return loss_again(drawn, subject)
    finally:
        vars(state).update(before)


def _never_counts(name: str, drawn: Tensor, subject: Subject) -> bool:
    """Whether what that model says has no part in the gradient, now and later in the run."""
    moments = (partial(take, drawn, subject) for take in (loss_again, loss_later))
    return all(_counts(name, subject, take) is False for take in moments)


def _counts(name: str, subject: Subject, take: Callable[[], Tensor | None]) -> bool | None:
    """Whether the gradient is another one once that model's outputs are turned round.

    None where the loss does not ask that model, such as a mean of the weights for the evaluation.

    A teacher that agrees with the labels gives the gradient that they give. The loss itself may
    stay: a student that knows nothing is as far from the one as from the other.

    Args:
        take: the loss at some moment of the run.
    """

    asked = []

    def turned(_module: nn.Module, _args: tuple, output: Any) -> None:
        logits = logits_in(output)
        asked.append(logits)
        if isinstance(logits, Tensor):
            logits.data.copy_(logits.data.flip(-1))

    with put_back(subject):
        plain = _vector(take(), subject)
        handle = subject.held_models[name].register_forward_hook(turned)
        try:
            other = _vector(take(), subject)
        finally:
            handle.remove()
    if not asked or plain is None:
        return None
    return other is not None and float((other - plain).norm()) > SLIGHT * float(plain.norm())


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
