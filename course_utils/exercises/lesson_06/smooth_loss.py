"""Exercise 06.8: a loss that counts wrong answers, and has no slope."""

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy, one_hot

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    backward_fails,
    first,
    names_without_gradient,
)
from course_utils.reproductions.small_models import classifier, examples

STEP = 0.1  # small against the weights, which are about 0.5: the slope decides


def runs_backward(error_loss) -> str | None:
    return backward_fails(error_loss(classifier(), *examples()))


def all_weights_are_reached(error_loss) -> str | None:
    model = classifier()
    if backward_fails(error_loss(model, *examples())):
        return NOTHING_YET
    starved = names_without_gradient(model)
    return f"no gradient reaches {', '.join(starved)}" if starved else None


def step_makes_right_answers_likelier(error_loss) -> str | None:
    x, classes = examples()
    return first(
        _one_step(error_loss, x, y, given=given)
        for y, given in (
            (classes, "mixed classes"),
            *((torch.full_like(classes, c), f"examples of class {c} alone") for c in range(3)),
        )
    )


def _one_step(error_loss, x, y, *, given: str) -> str | None:
    model = classifier()
    if backward_fails(error_loss(model, x, y)) or names_without_gradient(model):
        return NOTHING_YET
    before = _mean_probability(model, x, y)
    torch.optim.SGD(model.parameters(), lr=STEP).step()
    after = _mean_probability(model, x, y)
    if after > before:
        return None
    return (
        f"for {given}, one step takes the mean probability of the right answers "
        f"from {before:.4f} to {after:.4f}"
    )


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
        "Its mean negative logarithm is the cross entropy.",
    ),
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
            why="a mark behind the argmax starts a new graph with no model in it",
            next="replace the argmax instead of marking its result",
        ),
        Criterion(
            "A small step down the loss makes right answers likelier.",
            step_makes_right_answers_likelier,
            why="a smooth loss is of use only if it falls where errors fall",
            next="check the sign, for a loss is made smaller, and that it looks at `y`",
        ),
    ),
    right=(error_loss_as_cross_entropy, error_loss_as_expected_error, error_loss_as_squares),
    wrong=(
        Wrong(error_loss_as_it_was, caught_by=runs_backward),
        Wrong(error_loss_by_rounding_in_numpy, caught_by=runs_backward),
        Wrong(error_loss_marked, caught_by=all_weights_are_reached),
        Wrong(error_loss_with_marked_tokens, caught_by=all_weights_are_reached),
        Wrong(error_loss_of_the_head_only, caught_by=all_weights_are_reached),
        Wrong(error_loss_upside_down, caught_by=step_makes_right_answers_likelier),
        Wrong(error_loss_without_minus, caught_by=step_makes_right_answers_likelier),
        Wrong(error_loss_of_one_class, caught_by=step_makes_right_answers_likelier),
        Wrong(error_loss_of_the_largest, caught_by=step_makes_right_answers_likelier),
    ),
)
