"""Exercise 06.5: a loss with everything frozen, to be fixed so that the head trains."""

from collections.abc import Callable

from torch import nn
from torch.nn.functional import cross_entropy

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.input_fingerprint import changed, fingerprint
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    SITUATIONS,
    Situation,
    backward_fails,
    gradients_differ,
    in_every_situation,
    loss_form,
    value_differs,
)
from course_utils.reproductions.lesson_06.small_models import Classifier


def returns_a_loss(head_loss) -> str | None:
    situation = SITUATIONS[0]
    return loss_form(head_loss(situation.model(), situation.x(), situation.y()))


@in_every_situation
def runs_backward(head_loss, at: Situation) -> str | None:
    return backward_fails(head_loss(at.model(), at.x(), at.y()))


@in_every_situation
def is_the_cross_entropy(head_loss, at: Situation) -> str | None:
    want = cross_entropy(at.model()(at.x()), at.y())
    return value_differs(head_loss(at.model(), at.x(), at.y()), want, name="the cross entropy")


@in_every_situation
def head_gets_its_gradient(head_loss, at: Situation) -> str | None:
    model, same_model = at.model(), at.model()
    if backward_fails(head_loss(model, at.x(), at.y())):
        return NOTHING_YET
    cross_entropy(same_model(at.x()), at.y()).backward()
    return gradients_differ(model.head, same_model.head)


@in_every_situation
def body_gets_none(head_loss, at: Situation) -> str | None:
    for model, given in ((at.model(), "the body"), (_nested(at.model()), "a body of Sequentials")):
        if backward_fails(head_loss(model, at.x(), at.y())):
            return NOTHING_YET
        reached = [n for n, p in model.body.named_parameters() if p.grad is not None]
        if reached:
            return f"parameters of {given} with a gradient: {', '.join(reached)}"
    return None


def _nested(model: Classifier) -> Classifier:
    """The same model, its body's layers three levels deep."""
    model.body = nn.Sequential(nn.Sequential(model.body))
    return model


@in_every_situation
def only_freezes(head_loss, at: Situation) -> str | None:
    """Freezing is the task; the model has gradients of an earlier batch, and keeps them."""
    model = at.model_with_gradients()
    before, weights = _apart_from_freezing(model), dict(model.named_parameters())
    head_loss(model, at.x(), at.y())
    if place := changed(before, _apart_from_freezing(model)):
        return f"the call changed {place}"
    other = [name for name, weight in model.named_parameters() if weight is not weights[name]]
    return f"the call put another tensor in the place of {other[0]}" if other else None


def _apart_from_freezing(model) -> dict[str, object]:
    places = fingerprint(model, "the model").items()
    return {place: seen for place, seen in places if not place.startswith("requires_grad of")}


def head_loss_with_frozen_body(model, x, y):
    model.body.requires_grad_(False)
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
        "Which of the two parts should learn?",
        "requires_grad_(False) on a module reaches every parameter inside it.",
        "The call is right, but it freezes too much. Which attribute of `model` must stay?",
    ),
    form=returns_a_loss,
    may_change=(0,),
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="a loss needs at least one trainable weight behind it",
            next="count the parameters that require grad before the forward pass",
        ),
        Criterion(
            "The loss is the cross entropy.",
            is_the_cross_entropy,
            why="a fixed graph must not change what is trained",
            next="return cross_entropy(model(x), y), the mean over the examples",
        ),
        Criterion(
            "It freezes, and changes nothing else in the model.",
            only_freezes,
            why="the caller trains the same model, in its mode and with its gradients",
            next="leave backward(), eval() and hooks to the caller",
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
            why="the body must stay as it is",
            next="freeze every layer of the body, however many it has",
        ),
    ),
    answer=head_loss_with_frozen_body,
)
