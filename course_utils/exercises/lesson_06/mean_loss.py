"""Exercise 06.7: a mean that is taken over plain numbers."""

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    SITUATIONS,
    Situation,
    backward_fails,
    gradients_differ,
    in_every_situation,
    loss_form,
    names_without_gradient,
    value_differs,
)


def returns_a_loss(mean_loss) -> str | None:
    at = SITUATIONS[0]
    loss = mean_loss(at.model(), at.x(), at.y())
    if seen := loss_form(loss):
        return seen
    if loss.shape == ():
        return None
    return f"the loss has shape {tuple(loss.shape)}, where a tensor of shape () is needed"


@in_every_situation
def runs_backward(mean_loss, at: Situation) -> str | None:
    return backward_fails(mean_loss(at.model(), at.x(), at.y()))


@in_every_situation
def is_the_mean(mean_loss, at: Situation) -> str | None:
    want = cross_entropy(at.model()(at.x()), at.y())
    got = mean_loss(at.model_with_gradients(), at.x(), at.y())
    return value_differs(got, want, name="the mean")


@in_every_situation
def all_weights_are_reached(mean_loss, at: Situation) -> str | None:
    model = at.model()
    if backward_fails(mean_loss(model, at.x(), at.y())):
        return NOTHING_YET
    starved = names_without_gradient(model)
    return f"no gradient reaches {', '.join(starved)}" if starved else None


@in_every_situation
def gradient_is_that_of_the_mean(mean_loss, at: Situation) -> str | None:
    model, same_model = at.model(), at.model()
    loss = mean_loss(model, at.x(), at.y())
    if backward_fails(loss) or names_without_gradient(model):
        return NOTHING_YET
    if loss.dtype != at.dtype:
        return f"the loss is {loss.dtype} and its model {at.dtype}, so the gradient is rounded"
    cross_entropy(same_model(at.x()), at.y()).backward()
    return gradients_differ(model, same_model)


def mean_loss_of_tensors(model, x, y):
    losses = [cross_entropy(model(one), label) for one, label in zip(x, y, strict=True)]
    return torch.stack(losses).mean()


MEAN = Exercise(
    id="06.7",
    name="MEAN",
    title="Snippet 3, the mean over examples",
    minutes=1,
    difficulty="two lines",
    points=1,
    reads="mean_loss",
    expects=(Callable,),
    hints=(
        "Which type do the things have that are added up?",
        ".item() and .tolist() give plain numbers; torch.tensor(...) starts a new graph.",
        "Two things in snippet 3 leave the graph: one in the loop, one in the last line. The sum "
        "of tensors, divided by their number, needs neither.",
    ),
    form=returns_a_loss,
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="a plain number has no graph that leads back to the model",
            next="keep the losses as tensors until backward() is over",
        ),
        Criterion(
            "The loss is the mean cross entropy over the examples.",
            is_the_mean,
            why="a sum grows with the batch, and the learning rate with it",
            next="divide by the number of examples that are given",
        ),
        Criterion(
            "Every weight gets a gradient.",
            all_weights_are_reached,
            why="requires_grad on a fresh tensor ends the error and trains nothing",
            next="use what the model returned, without a copy through numbers",
        ),
        Criterion(
            "The gradient is that of the mean.",
            gradient_is_that_of_the_mean,
            why="the value can be right while the gradient is wrong",
            next="detach nothing on the way, not even the running total, and keep the dtype",
        ),
    ),
    answer=mean_loss_of_tensors,
)
