"""Exercise 06.8: a loss that counts wrong answers, and has no slope."""

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.sample_modules import Sure
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    SITUATIONS,
    Situation,
    backward_fails,
    in_every_situation,
    loss_form,
    names_without_gradient,
)

STEP = 0.05  # the length, small against that of the weights: the slope decides


def returns_a_loss(error_loss) -> str | None:
    at = SITUATIONS[0]
    return loss_form(error_loss(at.model(), at.x(), at.y()))


@in_every_situation
def runs_backward(error_loss, at: Situation) -> str | None:
    return backward_fails(error_loss(at.model(), at.x(), at.y()))


@in_every_situation
def all_weights_are_reached(error_loss, at: Situation) -> str | None:
    model = at.model()
    if backward_fails(error_loss(model, at.x(), at.y())):
        return NOTHING_YET
    starved = names_without_gradient(model)
    return f"no gradient reaches {', '.join(starved)}" if starved else None


@in_every_situation
def step_makes_right_answers_likelier(error_loss, at: Situation) -> str | None:
    """In each situation for its own classes, and for each class alone."""
    alone = ((torch.full_like(at.y(), c), f"all of class {c}") for c in range(3))
    for y, given in ((at.y(), "mixed classes"), *alone):
        if seen := _one_step(error_loss, at.model(), at.x(), y):
            return f"{given}, {seen}"
    return None


def _one_step(error_loss, model, x, y) -> str | None:
    if backward_fails(error_loss(model, x, y)) or names_without_gradient(model):
        return NOTHING_YET
    before = _mean_probability(model, x, y)
    _step_down(model)
    after = _mean_probability(model, x, y)
    if after > before:
        return None
    return (
        f"one step takes the mean probability of the right answers from {before:.4f} to {after:.4f}"
    )


def _step_down(model) -> None:
    """A step of the length STEP, whatever the loss is multiplied by."""
    slopes = [weight.grad.double() for weight in model.parameters()]
    length = torch.stack([slope.square().sum() for slope in slopes]).sum().sqrt()
    if length == 0:
        return
    with torch.no_grad():
        for weight, slope in zip(model.parameters(), slopes, strict=True):
            weight -= (STEP * slope / length).to(weight.dtype)


@in_every_situation
def every_example_counts(error_loss, at: Situation) -> str | None:
    """The gradient is another one when a single example is given another class."""
    as_given = _gradient(error_loss, at, at.y())
    if as_given is None:
        return NOTHING_YET
    for number in range(at.num):
        y = at.y()
        y[number] = (y[number] + 1) % 3
        other = _gradient(error_loss, at, y)
        if other is None or (other - as_given).norm() <= 1e-4 * as_given.norm():
            return f"another class for y[{number}] leaves the gradient as it is"
    return None


def _gradient(error_loss, at: Situation, y) -> torch.Tensor | None:
    model = at.model()
    if backward_fails(error_loss(model, at.x(), y)) or names_without_gradient(model):
        return None
    return torch.cat([weight.grad.double().flatten() for weight in model.parameters()])


@in_every_situation
def certainty_gains_nothing(error_loss, at: Situation) -> str | None:
    """A loss that falls for ever is never done with what is right already."""
    sure, surer, unsure = (
        error_loss(Sure(at.model(), at.y(), by), at.x(), at.y()).item() for by in (50, 100, 0)
    )
    if sure - surer <= 0.1 * abs(unsure - sure):
        return None
    return (
        f"where each right class leads by 50 logits, the loss is {sure:.3g}; where it leads by "
        f"100, {surer:.3g}"
    )


def _mean_probability(model, x, y) -> float:
    with torch.no_grad():
        return model(x).softmax(-1).gather(-1, y[:, None]).mean().item()


def error_loss_as_cross_entropy(model, x, y):
    return cross_entropy(model(x), y)


SMOOTH = Exercise(
    id="06.8",
    name="SMOOTH",
    title="Snippet 4, fewer wrong answers",
    minutes=2,
    difficulty="one line",
    points=1,
    reads="error_loss",
    expects=(Callable,),
    hints=(
        "By how much does argmax change when a weight changes by a millionth?",
        "Work with the probability of the right class: it changes smoothly.",
        "softmax(-1) gives probabilities of shape (N, 3); `y` says which of the three to take in "
        "each row. Make their mean larger, or minus their logarithm smaller.",
    ),
    form=returns_a_loss,
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="an integer result has no derivative, so no graph is recorded for it",
            next="take the last float tensor on the way and go on from there",
        ),
        Criterion(
            "Every weight gets a gradient.",
            all_weights_are_reached,
            why="a weight without a gradient stays where it is, whatever the loss says",
            next="print .grad of each weight; go on from what model(x) returns, unmarked and whole",
        ),
        Criterion(
            "A small step down the loss raises the mean probability of the right answers.",
            step_makes_right_answers_likelier,
            why="a smooth loss helps only if it falls where errors fall",
            next="does it fall where the probability rises, has it a gradient, does it use `y`?",
        ),
        Criterion(
            "Every example counts.",
            every_example_counts,
            why="an example that is left out of the loss is not learned",
            next="use all rows of `x`, each with its own class",
        ),
        Criterion(
            "An example that is right already gains nothing more.",
            certainty_gains_nothing,
            why="such a loss falls for ever, by pushing up logits of answers that are right "
            "already, and the wrong ones get no more of the step than they",
            next="compare the right logit with those of the other classes, as softmax does",
        ),
    ),
    answer=error_loss_as_cross_entropy,
)
