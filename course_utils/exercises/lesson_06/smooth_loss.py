"""Exercise 06.8: a loss that counts wrong answers, and has no slope."""

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy, one_hot

from course_utils import checking
from course_utils.exercises.declare import Criterion, Exercise, Wrong
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


def _mean_probability(model, x, y) -> float:
    with torch.no_grad():
        return model(x).softmax(-1).gather(-1, y[:, None]).mean().item()


def error_loss_as_cross_entropy(model, x, y):
    return cross_entropy(model(x), y)


def error_loss_as_expected_error(model, x, y):
    return (1 - model(x).softmax(-1).gather(-1, y[:, None])).mean()


def error_loss_as_squares(model, x, y):
    return (model(x).softmax(-1) - one_hot(y, 3)).square().sum(-1).mean()


def error_loss_as_it_was(model, x, y):
    return (model(x).argmax(-1) != y).float().mean()


def error_loss_by_rounding_in_numpy(model, x, y):
    probabilities = model(x).softmax(-1).detach().numpy()
    return torch.tensor(1 - probabilities[range(len(y)), y].mean())


def error_loss_marked(model, x, y):
    return error_loss_as_it_was(model, x, y).requires_grad_()


def error_loss_with_marked_tokens(model, x, y):
    tokens = model(x).argmax(-1).float().requires_grad_()
    return (tokens - y).square().mean()


def error_loss_of_the_head_only(model, x, y):
    return cross_entropy(model.head(model.body(x).detach()), y)


def error_loss_upside_down(model, x, y):
    return model(x).softmax(-1).gather(-1, y[:, None]).mean()


def error_loss_of_one_class(model, x, y):
    return model(x)[:, 0].mean()


def error_loss_of_the_largest(model, x, y):
    return model(x).softmax(-1).max(-1).values.mean()


def error_loss_without_minus(model, x, y):
    return model(x).log_softmax(-1).gather(-1, y[:, None]).mean()


def error_loss_as_a_hinge(model, x, y):
    return torch.nn.functional.multi_margin_loss(model(x), y)


def error_loss_smoothed(model, x, y):
    return cross_entropy(model(x), y, label_smoothing=0.1)


def error_loss_rounded(model, x, y):
    right = model(x).softmax(-1).gather(-1, y[:, None])
    return (1 - right.round()).mean()


def error_loss_as_a_number(model, x, y):
    return cross_entropy(model(x), y).item()


def error_loss_per_example(model, x, y):
    return cross_entropy(model(x), y, reduction="none")


def error_loss_of_the_shown_classes(model, x, y):
    shown = torch.arange(len(y)) % 3
    return cross_entropy(model(x), shown)


def error_loss_and_steps(model, x, y):
    loss = cross_entropy(model(x), y)
    loss.backward(retain_graph=True)
    torch.optim.SGD(model.parameters(), lr=STEP).step()
    return loss


def error_loss_with_frozen_body(model, x, y):
    model.body.requires_grad_(False)
    return cross_entropy(model(x), y)


def error_loss_a_billion_times(model, x, y):
    return 1e9 * cross_entropy(model(x), y)


def error_loss_a_billionth(model, x, y):
    return 1e-9 * cross_entropy(model(x), y)


def error_loss_of_the_first(model, x, y):
    return cross_entropy(model(x[:1]), y[:1])


def error_loss_of_the_first_three(model, x, y):
    return cross_entropy(model(x[:3]), y[:3])


def error_loss_of_every_second(model, x, y):
    return cross_entropy(model(x[::2]), y[::2])


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
            why="a smooth loss is of use only if it falls where errors fall",
            next="is it falling where the probability rises, has it a slope, and does it use `y`?",
        ),
        Criterion(
            "Every example counts.",
            every_example_counts,
            why="what is left out of the loss is not learned",
            next="use all rows of `x`, each with its own class",
        ),
    ),
    right=(
        error_loss_as_cross_entropy,
        error_loss_as_expected_error,
        error_loss_as_squares,
        error_loss_as_a_hinge,
        error_loss_smoothed,
        error_loss_a_billion_times,
        error_loss_a_billionth,
    ),
    wrong=(
        Wrong(error_loss_as_a_number, caught_by=returns_a_loss),
        Wrong(error_loss_per_example, caught_by=returns_a_loss),
        Wrong(error_loss_rounded, caught_by=step_makes_right_answers_likelier),
        Wrong(error_loss_of_the_shown_classes, caught_by=step_makes_right_answers_likelier),
        Wrong(error_loss_and_steps, caught_by=checking.leaves_its_inputs_alone),
        Wrong(error_loss_with_frozen_body, caught_by=checking.leaves_its_inputs_alone),
        Wrong(error_loss_as_it_was, caught_by=runs_backward),
        Wrong(error_loss_by_rounding_in_numpy, caught_by=runs_backward),
        Wrong(error_loss_marked, caught_by=all_weights_are_reached),
        Wrong(error_loss_with_marked_tokens, caught_by=all_weights_are_reached),
        Wrong(error_loss_of_the_head_only, caught_by=all_weights_are_reached),
        Wrong(error_loss_of_the_first, caught_by=every_example_counts),
        Wrong(error_loss_of_the_first_three, caught_by=every_example_counts),
        Wrong(error_loss_of_every_second, caught_by=every_example_counts),
        Wrong(error_loss_upside_down, caught_by=step_makes_right_answers_likelier),
        Wrong(error_loss_without_minus, caught_by=step_makes_right_answers_likelier),
        Wrong(error_loss_of_one_class, caught_by=step_makes_right_answers_likelier),
        Wrong(error_loss_of_the_largest, caught_by=step_makes_right_answers_likelier),
    ),
)
