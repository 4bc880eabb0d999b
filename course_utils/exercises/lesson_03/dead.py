"""Exercise 03.1: find the parameters that hold inf or nan."""

from collections.abc import Callable

import torch
from torch import nn

from course_utils.exercises.declare import Criterion, Exercise, Wrong

NAN, INF = float("nan"), float("inf")


def _model(*, head: float = 1.0, frozen: float = 1.0, dtype: torch.dtype = torch.float16):
    """A module with a frozen body, a trainable adapter and a trainable head."""
    model = nn.ModuleDict(
        {"body": nn.Linear(4, 4), "adapter": nn.Linear(4, 4), "score": nn.Linear(4, 1)}
    ).to(dtype)
    model["body"].requires_grad_(False)
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(60000.0 if dtype == torch.float16 else 1.0)
        model["score"].weight[0, 2] = head
        model["body"].weight[1, 1] = frozen
    return model


def _list_differs(got: object, want: list[str], *, given: str) -> str | None:
    if not isinstance(got, (list, tuple)):
        return f"for {given} it gives {got!r}, where a list of names is asked"
    if sorted(map(str, got)) == sorted(want):
        return None
    return f"for {given} it gives {sorted(map(str, got))}, it should be {want}"


def healthy_is_empty(dead_parameters) -> str | None:
    return _list_differs(dead_parameters(_model()), [], given="weights of 60000 in float16")


def finds_nan(dead_parameters) -> str | None:
    got = dead_parameters(_model(head=NAN))
    return _list_differs(got, ["score.weight"], given="one nan in score.weight")


def finds_inf(dead_parameters) -> str | None:
    for value in (INF, -INF):
        got = dead_parameters(_model(head=value, dtype=torch.float32))
        seen = _list_differs(got, ["score.weight"], given=f"one {value} in score.weight")
        if seen:
            return seen
    return None


def skips_frozen(dead_parameters) -> str | None:
    got = dead_parameters(_model(frozen=NAN))
    return _list_differs(got, [], given="one nan in a frozen weight")


def _names_where(model, is_dead) -> list[str]:
    return [n for n, p in model.named_parameters() if p.requires_grad and is_dead(p.detach())]


def dead_by_isfinite(model):
    return [
        name
        for name, weight in model.named_parameters()
        if weight.requires_grad and not weight.isfinite().all()
    ]


def dead_by_counting(model):
    return _names_where(model, lambda weight: (weight.isnan() | weight.isinf()).sum() > 0)


def dead_by_isnan(model):
    return _names_where(model, lambda weight: weight.isnan().any())


def dead_by_isinf(model):
    return _names_where(model, lambda weight: weight.isinf().any())


def dead_by_sum(model):
    return _names_where(model, lambda weight: not weight.sum().isfinite())


def dead_anywhere(model):
    return [name for name, weight in model.named_parameters() if not weight.isfinite().all()]


def dead_modules(model):
    return [name.rpartition(".")[0] for name in dead_by_isfinite(model)]


DEAD = Exercise(
    id="03.1",
    name="DEAD",
    title="Find the dead weights",
    minutes=5,
    difficulty="a few lines",
    points=3,
    reads="dead_parameters",
    expects=(Callable,),
    hints=(
        "Which of torch's functions is true for ordinary numbers, and false for inf and for nan?",
        "Go through model.named_parameters() and skip what no optimizer will touch.",
        "A name belongs into the list if it requires grad and not weight.isfinite().all().",
    ),
    criteria=(
        Criterion(
            "A healthy model has no dead parameter, however large its weights.",
            healthy_is_empty,
            why="60000 is an ordinary float16 number; a false alarm costs a good run",
            next="ask each weight whether it is finite instead of computing with it",
        ),
        Criterion(
            "A weight that is nan is found, by its full name.",
            finds_nan,
            why="nan is what 0/0 leaves behind",
            next="compare with isnan, or better with something that sees inf as well",
        ),
        Criterion(
            "A weight that is inf is found.",
            finds_inf,
            why="x/0 leaves inf, and inf becomes nan one forward pass later",
            next="isnan does not see inf; isfinite sees both",
        ),
        Criterion(
            "Frozen parameters are left out.",
            skips_frozen,
            why="the optimizer cannot have killed what it does not touch",
            next="look at requires_grad",
        ),
    ),
    right=(dead_by_isfinite, dead_by_counting),
    wrong=(
        Wrong(dead_by_isnan, caught_by=finds_inf),
        Wrong(dead_by_sum, caught_by=healthy_is_empty),
        Wrong(dead_anywhere, caught_by=skips_frozen),
        Wrong(dead_by_isinf, caught_by=finds_nan),
        Wrong(dead_modules, caught_by=finds_nan),
    ),
)
