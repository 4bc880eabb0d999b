"""Exercise 06.5: a loss with everything frozen, to be mended so that the head trains."""

from collections.abc import Callable

from torch.nn.functional import cross_entropy

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    backward_fails,
    gradients_differ,
    names_with_gradient,
)
from course_utils.reproductions.small_models import classifier, examples


def runs_backward(head_loss) -> str | None:
    return backward_fails(head_loss(classifier(), *examples()))


def head_gets_its_gradient(head_loss) -> str | None:
    model, same_model = classifier(), classifier()
    if backward_fails(head_loss(model, *examples())):
        return NOTHING_YET
    x, y = examples()
    cross_entropy(same_model(x), y).backward()
    return gradients_differ(model.head, same_model.head)


def body_gets_none(head_loss) -> str | None:
    model = classifier()
    if backward_fails(head_loss(model, *examples())):
        return NOTHING_YET
    reached = names_with_gradient(model.body)
    return f"body parameters with a gradient: {', '.join(reached)}" if reached else None


def head_loss_with_frozen_body(model, x, y):
    model.body.requires_grad_(False)
    return cross_entropy(model(x), y)


def head_loss_by_thawing(model, x, y):
    model.requires_grad_(False)
    model.head.requires_grad_(True)
    return cross_entropy(model(x), y)


def head_loss_by_detaching(model, x, y):
    return cross_entropy(model.head(model.body(x).detach()), y)


def head_loss_as_it_was(model, x, y):
    model.requires_grad_(False)
    return cross_entropy(model(x), y)


def head_loss_marked(model, x, y):
    return head_loss_as_it_was(model, x, y).requires_grad_()


def head_loss_with_marked_features(model, x, y):
    model.requires_grad_(False)
    return cross_entropy(model(x.requires_grad_()), y)


def head_loss_with_nothing_frozen(model, x, y):
    return cross_entropy(model(x), y)


def head_loss_with_frozen_head(model, x, y):
    model.head.requires_grad_(False)
    return cross_entropy(model(x), y)


HEAD = Exercise(
    id="06.5",
    name="HEAD",
    title="Snippet 1, the head on a frozen body",
    minutes=1,
    difficulty="one line",
    points=1,
    reads="head_loss",
    expects=(Callable,),
    hints=(
        "Which of the two parts is meant to learn?",
        "requires_grad_(False) on a module reaches every parameter inside it.",
        "Freeze model.body instead of model.",
    ),
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="a loss needs at least one trainable weight behind it",
            next="count the parameters that require grad before the forward pass",
        ),
        Criterion(
            "The head gets the gradient of the loss.",
            head_gets_its_gradient,
            why="marking the loss or the features ends the error and trains nothing",
            next="leave requires_grad of the head's own weights on",
        ),
        Criterion(
            "The body gets none.",
            body_gets_none,
            why="the body was to stay as it is",
            next="freeze the part instead of nothing",
        ),
    ),
    right=(head_loss_with_frozen_body, head_loss_by_thawing, head_loss_by_detaching),
    wrong=(
        Wrong(head_loss_as_it_was, caught_by=runs_backward),
        Wrong(head_loss_marked, caught_by=head_gets_its_gradient),
        Wrong(head_loss_with_marked_features, caught_by=head_gets_its_gradient),
        Wrong(head_loss_with_frozen_head, caught_by=head_gets_its_gradient),
        Wrong(head_loss_with_nothing_frozen, caught_by=body_gets_none),
    ),
)
