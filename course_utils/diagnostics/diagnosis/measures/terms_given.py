"""Judges the terms of a loss: those without a weight or a gradient, and a divided divergence."""

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.heard_losses import Heard, HeardLosses
from course_utils.diagnostics.diagnosis.measures.terms import Terms, terms_of
from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

SMALL = 0.2  # of the gradient: a term that was meant to count has more
SMALL_IS_GOOD = ("a cross-entropy", "a squared error", "a binary cross-entropy")
WORDS = 8  # numbers that a divergence runs over, at least


def judge_terms_of(
    loss: Tensor,
    heard: HeardLosses,
    subject: Subject,
    sheet: Sheet,
    *,
    later: Callable[[], Tensor | None],
) -> None:
    """Judge a loss whose graph is still there: the gradient of each of its terms alone.

    Args:
        later: the loss of the same rows at a later step of a Trainer's run. Of a loop the backward
            passes of its run tell.
    """
    if not loss.requires_grad or loss.dim():
        return
    terms = terms_of(loss)
    if len(terms.nodes) > 1:
        weights = list(subject.trainable().values())
        norms = terms.norms(loss, weights)
        shares = [norm / (sum(norms) or 1.0) for norm in norms]
        if subject.trainer is not None:
            _weigh(terms, loss, weights)
            _judge_weights(terms, later, weights, sheet)
        _divided(heard.calls, shares, sheet)
        listed = ", ".join(
            f"{share:.3g} by {name or 'another term'}"
            for name, share in zip(terms.names, shares, strict=True)
        )
        sheet.show("gradient by terms of the loss", listed)
    _without_graph(heard.calls, terms.has_constant, sheet)


def _weigh(terms: Terms, loss: Tensor, weights: Sequence[Tensor]) -> None:
    with terms.weighed():  # a KL to one's own start has a weight, and no gradient yet
        torch.autograd.grad(loss, weights, retain_graph=True, allow_unused=True)


def _judge_weights(
    terms: Terms, later: Callable[[], Tensor | None], weights: Sequence[Tensor], sheet: Sheet
) -> None:
    """Name a term whose weight is 0 in the first step and later: one that grows begins at 0."""
    if min(terms.weights) > 0 or (loss := later()) is None or not loss.requires_grad:
        return
    then = terms_of(loss)
    if len(then.nodes) != len(terms.nodes):  # the terms change, so that none is 0 for sure
        return
    _weigh(then, loss, weights)
    largest = list(map(max, terms.weights, then.weights))
    _without_weight(terms.names, largest, "the first rows, now and later in the run", sheet)


def judge_terms_heard(passes: Sequence[Terms], heard: HeardLosses, sheet: Sheet) -> None:
    """Judge the backward passes of a loop: terms that had the weight 0 in each of them."""
    numbers = Counter(len(one.nodes) for one in passes)
    if not numbers:
        return
    size = numbers.most_common(1)[0][0]
    alike = [one for one in passes if len(one.nodes) == size]
    if size > 1 and len(alike) > 3:
        weights = [max(one.weights[i] for one in alike) for i in range(size)]
        _without_weight(alike[0].names, weights, f"all {len(alike)} backward passes", sheet)
    _turned(alike, sheet)
    _without_graph(heard.calls, all(one.has_constant for one in alike), sheet)
    if size > 1:
        _divided(heard.calls, None, sheet)


def _turned(passes: Sequence[Terms], sheet: Sheet) -> None:
    """The only term that is to become small is made large, in each backward pass."""
    errors = [i for i, name in enumerate(passes[0].names) if name in SMALL_IS_GOOD]
    if len(passes) <= 3 or len(errors) != 1 or not all(one.turned[errors[0]] for one in passes):
        return
    name = passes[0].names[errors[0]]
    said = f"{name} has a weight below 0 in all {len(passes)} backward passes"
    why = f"the run makes {name} larger: its sign in the loss is turned round"
    sheet.find("loss_against_labels", MEASURED, said, place="the sign of the loss", why=why)


def _without_weight(names: list[str], weights: list[float], where: str, sheet: Sheet) -> None:
    lost = [name for name, weight in zip(names, weights, strict=True) if weight == 0 and name]
    if not lost or max(weights) == 0:
        return
    said = f"of {len(names)} terms {lost[0]} has a gradient of exactly 0 in {where}"
    why = f"a term of the loss, {lost[0]}, has no effect: its weight is 0"
    sheet.find("term_without_gradient", MEASURED, said, place="the weight of a term", why=why)


def _without_graph(calls: Sequence[Heard], has_constant: bool, sheet: Sheet) -> None:
    """A loss function whose arguments have no gradient, where a number is added to the loss."""
    dead = [one for one in calls if not one.has_graph]
    if not dead or not has_constant or len(dead) == len(calls) == 1:
        return
    if all(not one.has_graph for one in calls):
        return
    said = f"{dead[0].name} is called on tensors without a gradient, in {len(dead)} of {len(calls)}"
    more = "and something without a gradient is added to the loss"
    sheet.find(
        "term_without_gradient",
        LIKELY,
        f"{said} calls of loss functions",
        more,
        place=f"F.{dead[0].name}, its arguments",
        why=f"a term of the loss, {dead[0].name}, has no effect: what it is given was detached "
        "from the model",
        advice="take detach(), no_grad() or .item() away from the model's own side of that term",
    )


def _divided(calls: Sequence[Heard], shares: list[float] | None, sheet: Sheet) -> None:
    """kl_div with its default, beside other terms, over many words."""
    means = [one for one in calls if one.name == "kl_div" and one.reduction == "mean"]
    wide = [one for one in means if one.given.dim() > 1 and one.given.shape[-1] >= WORDS]
    if not wide:
        return
    shape = tuple(wide[0].given.shape)
    said = f"kl_div is called with reduction='mean' on {shape}: it divides by {shape[-1]} more"
    if shares is not None and min(shares) > SMALL:
        sheet.show("kl_div", said)
        return
    more = () if shares is None else (f"its term has {min(shares):.2g} of the gradient",)
    weight = LIKELY if shares is None else MEASURED
    sheet.find("divergence_divided", weight, said, *more, place="F.kl_div, reduction")
