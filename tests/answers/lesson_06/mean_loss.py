"""Right and wrong answers of exercise 06.7."""

import torch
from torch.nn.functional import cross_entropy

from course_utils.checks import checking
from course_utils.exercises.lesson_06 import mean_loss
from course_utils.exercises.lesson_06.mean_loss import mean_loss_of_tensors
from tests.answers import answers_of

right, wrong = answers_of(mean_loss.MEAN)


@right
def mean_loss_at_once(model, x, y):
    return cross_entropy(model(x), y)


@wrong(caught_by=mean_loss.runs_backward)
def mean_loss_as_it_was(model, x, y):
    total = 0.0
    for one, label in zip(x, y, strict=True):
        total += cross_entropy(model(one), label).item()
    return torch.tensor(total / len(y))


@wrong(caught_by=mean_loss.runs_backward)
def mean_loss_detached(model, x, y):
    return mean_loss_of_tensors(model, x, y).detach()


@wrong(caught_by=mean_loss.all_weights_are_reached)
def mean_loss_marked(model, x, y):
    return mean_loss_as_it_was(model, x, y).requires_grad_()


@wrong(caught_by=mean_loss.all_weights_are_reached)
def mean_loss_of_marked_numbers(model, x, y):
    losses = [cross_entropy(model(one), label).item() for one, label in zip(x, y, strict=True)]
    return torch.tensor(losses, requires_grad=True).mean()


@wrong(caught_by=mean_loss.is_the_mean)
def mean_loss_summed(model, x, y):
    return sum(cross_entropy(model(one), label) for one, label in zip(x, y, strict=True))


@wrong(caught_by=mean_loss.is_the_mean)
def mean_loss_of_the_last(model, x, y):
    return cross_entropy(model(x[-1]), y[-1])


@right
def mean_loss_running(model, x, y):
    total = 0
    for one, label in zip(x, y, strict=True):
        total = total + cross_entropy(model(one), label) / len(y)
    return total


@wrong(caught_by=mean_loss.gradient_is_that_of_the_mean)
def mean_loss_with_detached_total(model, x, y):
    total = torch.zeros((), dtype=x.dtype)
    for one, label in zip(x, y, strict=True):
        total = total.detach() + cross_entropy(model(one), label) / len(y)
    return total


@wrong(caught_by=mean_loss.returns_a_loss)
def mean_loss_as_a_number(model, x, y):
    return mean_loss_at_once(model, x, y).item()


@wrong(caught_by=mean_loss.returns_a_loss)
def mean_loss_per_example(model, x, y):
    return cross_entropy(model(x), y, reduction="none")


@wrong(caught_by=mean_loss.is_the_mean)
def mean_loss_over_six(model, x, y):
    return mean_loss_summed(model, x, y) / 6


@wrong(caught_by=mean_loss.all_weights_are_reached)
def mean_loss_of_the_head_only(model, x, y):
    return cross_entropy(model.head(model.body(x).detach()), y)


@wrong(caught_by=checking.leaves_its_inputs_alone)
def mean_loss_and_backward(model, x, y):
    loss = mean_loss_at_once(model, x, y)
    loss.backward(retain_graph=True)
    return loss


@wrong(caught_by=checking.leaves_its_inputs_alone)
def mean_loss_after_zero_grad(model, x, y):
    model.zero_grad()
    return mean_loss_at_once(model, x, y)


@wrong(caught_by=mean_loss.returns_a_loss)
def mean_loss_in_a_vector(model, x, y):
    return mean_loss_at_once(model, x, y)[None]


@wrong(caught_by=mean_loss.gradient_is_that_of_the_mean)
def mean_loss_in_float32(model, x, y):
    return mean_loss_at_once(model, x, y).float()
