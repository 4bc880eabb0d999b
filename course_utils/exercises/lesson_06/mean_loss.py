"""Exercise 06.7: a mean that is taken over plain numbers."""

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    backward_fails,
    first,
    gradients_differ,
    names_without_gradient,
)
from course_utils.reproductions.small_models import classifier, examples


def runs_backward(mean_loss) -> str | None:
    return backward_fails(mean_loss(classifier(), *examples()))


def all_weights_are_reached(mean_loss) -> str | None:
    model = classifier()
    if backward_fails(mean_loss(model, *examples())):
        return NOTHING_YET
    starved = names_without_gradient(model)
    return f"no gradient reaches {', '.join(starved)}" if starved else None


def _gradient_differs(mean_loss, num_examples: int) -> str | None:
    model, same_model = classifier(), classifier()
    x, y = examples(num_examples)
    if backward_fails(mean_loss(model, x, y)) or names_without_gradient(model):
        return NOTHING_YET
    cross_entropy(same_model(x), y).backward()
    saw = gradients_differ(model, same_model)
    return f"with {num_examples} examples, {saw}" if saw else None


def gradient_is_that_of_the_mean(mean_loss) -> str | None:
    return first(_gradient_differs(mean_loss, num) for num in (1, 4, 6))


def mean_loss_at_once(model, x, y):
    return cross_entropy(model(x), y)


def mean_loss_of_tensors(model, x, y):
    losses = [cross_entropy(model(one), label) for one, label in zip(x, y, strict=True)]
    return torch.stack(losses).mean()


def mean_loss_as_it_was(model, x, y):
    total = 0.0
    for one, label in zip(x, y, strict=True):
        total += cross_entropy(model(one), label).item()
    return torch.tensor(total / len(y))


def mean_loss_detached(model, x, y):
    return mean_loss_of_tensors(model, x, y).detach()


def mean_loss_marked(model, x, y):
    return mean_loss_as_it_was(model, x, y).requires_grad_()


def mean_loss_of_marked_numbers(model, x, y):
    losses = [cross_entropy(model(one), label).item() for one, label in zip(x, y, strict=True)]
    return torch.tensor(losses, requires_grad=True).mean()


def mean_loss_summed(model, x, y):
    return sum(cross_entropy(model(one), label) for one, label in zip(x, y, strict=True))


def mean_loss_of_the_last(model, x, y):
    return cross_entropy(model(x[-1]), y[-1])


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
        "What type has the thing that is added up?",
        ".item() and .tolist() give plain numbers; torch.tensor(...) starts a new graph.",
        "Add the tensors themselves and divide the sum, or stack them and take the mean.",
    ),
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="a float remembers no model",
            next="keep the losses as tensors until backward() is over",
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
            why="a sum grows with the batch, and the learning rate with it",
            next="divide by the number of examples",
        ),
    ),
    right=(mean_loss_of_tensors, mean_loss_at_once),
    wrong=(
        Wrong(mean_loss_as_it_was, caught_by=runs_backward),
        Wrong(mean_loss_detached, caught_by=runs_backward),
        Wrong(mean_loss_marked, caught_by=all_weights_are_reached),
        Wrong(mean_loss_of_marked_numbers, caught_by=all_weights_are_reached),
        Wrong(mean_loss_summed, caught_by=gradient_is_that_of_the_mean),
        Wrong(mean_loss_of_the_last, caught_by=gradient_is_that_of_the_mean),
    ),
)
