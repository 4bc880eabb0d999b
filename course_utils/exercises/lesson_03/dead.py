"""Exercise 03.1: find the parameters that hold inf or nan."""

import random
from collections.abc import Callable, Iterator, Set

import torch
from torch import Tensor, nn

from course_utils.checks.declare import Criterion, Exercise

NAN, INF = float("nan"), float("inf")
FORMATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SEEDS = (3, 5, 8)
WORDS = ("gate", "lora_A", "score", "tower", "blend", "mixer", "q_proj", "readout", "norm", "bias2")


def _model(seed: int) -> nn.Module:
    """Nested modules, some frozen, some in eval mode, in four formats, with a scalar and a tie."""
    rng = random.Random(seed)
    names = rng.sample(WORDS, 6)
    model = nn.Module()
    for number, name in enumerate(names):
        part = nn.Linear(3, 4, bias=number % 2 == 0).to(FORMATS[number % 4])
        part.register_buffer("running", torch.zeros(2))
        part.requires_grad_(number not in (1, 4)).train(number % 3 != 0)
        setattr(model, name, nn.ModuleDict({rng.choice(WORDS[:3]): part}))
    model.scale = nn.Parameter(torch.tensor(1.0))
    getattr(model, names[5]).tied = next(getattr(model, names[0]).parameters())
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(0.9 * torch.finfo(weight.dtype).max)  # ordinary numbers, but sums are inf
    return model


def _by_requires_grad(model: nn.Module) -> tuple[list[tuple[str, Tensor]], list[Tensor]]:
    named = list(model.named_parameters())
    return [pair for pair in named if pair[1].requires_grad], [
        weight for _, weight in named if not weight.requires_grad
    ]


def _put(weight: Tensor, value: float, place: int) -> None:
    with torch.no_grad():
        weight.view(-1)[place % weight.numel()] = value


def _differs(dead_parameters, model: nn.Module, given: str) -> str | None:
    """What the list names too much or too little; a tied tensor may have either name."""
    got = [str(name) for name in dead_parameters(model)]
    names: dict[int, set[str]] = {}
    for name, weight in model.named_parameters(remove_duplicate=False):
        if weight.requires_grad and not weight.isfinite().all():
            names.setdefault(id(weight), set()).add(name)
    known = set().union(*names.values())
    extra = [name for name in got if name not in known]
    lacks = [min(aliases) for aliases in names.values() if not aliases & set(got)]
    for named, says in ((extra, "names"), (lacks, "does not name")):
        if named:
            return f"for {given} it {says} {named[0]}"
    return None


def is_a_list_of_names(dead_parameters) -> str | None:
    model = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 1)})
    for value, given in ((1.0, "a healthy model"), (NAN, "a model with one nan")):
        _put(model["b"].weight, value, 0)
        got = dead_parameters(model)
        if not isinstance(got, (list, tuple)):
            way = " (list(...) makes one of it)" if isinstance(got, (Set, Iterator)) else ""
            kind = type(got).__name__
            return f"for {given} it gives a {kind}, where a list of names is asked{way}"
        if wrong := [item for item in got if not isinstance(item, str)]:
            return f"for {given} its list holds a {type(wrong[0]).__name__}, where names are asked"
    return None


def healthy_is_empty(dead_parameters) -> str | None:
    for seed in SEEDS:
        model = _model(seed)
        trained, _ = _by_requires_grad(model)
        for _, weight in trained:  # a gradient is not a weight
            weight.grad = torch.full_like(weight, NAN)
        if seen := _differs(dead_parameters, model, "weights of 0.9 of their format's maximum"):
            return seen
    return None


def _one_dead(value: float) -> Iterator[tuple[nn.Module, str]]:
    """Models with one dead weight each: every trainable tensor in turn, at changing places."""
    for seed in SEEDS:
        for number in range(len(_by_requires_grad(_model(seed))[0])):
            model = _model(seed)
            name, weight = _by_requires_grad(model)[0][number]
            _put(weight, value, place=seed * number - 1)
            yield model, f"one {value} in {name} ({str(weight.dtype).removeprefix('torch.')})"


def finds_nan(dead_parameters) -> str | None:
    return next(filter(None, (_differs(dead_parameters, *case) for case in _one_dead(NAN))), None)


def finds_inf(dead_parameters) -> str | None:
    cases = (*_one_dead(INF), *_one_dead(-INF))
    return next(filter(None, (_differs(dead_parameters, *case) for case in cases)), None)


def finds_all(dead_parameters) -> str | None:
    for seed in SEEDS:
        model = _model(seed)
        trained, _ = _by_requires_grad(model)
        dead = random.Random(seed).sample(trained, 3)
        for (_, weight), value in zip(dead, (NAN, INF, -INF), strict=True):
            _put(weight, value, place=seed)
        given = f"three dead tensors ({', '.join(sorted(name for name, _ in dead))})"
        if seen := _differs(dead_parameters, model, given):
            return seen
        got = dead_parameters(model)
        if twice := [name for name in got if got.count(name) > 1]:
            return f"for {given} it names {twice[0]} more than once"
    return None


def skips_what_no_optimizer_touches(dead_parameters) -> str | None:
    for seed in SEEDS:
        model = _model(seed)
        for weight in (*_by_requires_grad(model)[1], *model.buffers()):
            _put(weight, NAN, place=seed)
        if seen := _differs(dead_parameters, model, "nan in all frozen weights and all buffers"):
            return seen
    return None


def dead_by_isfinite(model):
    return [
        name
        for name, weight in model.named_parameters()
        if weight.requires_grad and not weight.isfinite().all()
    ]


DEAD = Exercise(
    id="03.1",
    name="DEAD",
    title="Find the dead weights",
    minutes=6,
    difficulty="a few lines",
    points=3,
    reads="dead_parameters",
    expects=(Callable,),
    form=is_a_list_of_names,
    hints=(
        "Which of torch's functions is true for ordinary numbers, and false for inf and for nan?",
        "Go through model.named_parameters() and skip what no optimizer will touch.",
        "A name belongs in the list on two conditions: one is an attribute of the parameter, the "
        "other is about all of its elements.",
    ),
    criteria=(
        Criterion(
            "A healthy model has no dead parameter, however large its weights.",
            healthy_is_empty,
            why="60000 is an ordinary float16 number; a false alarm stops a good run",
            next="ask each weight whether it is finite instead of computing with it",
        ),
        Criterion(
            "A nan is found in every trainable parameter, whatever its name, format and shape.",
            finds_nan,
            why="the head of the next run has another name, and its nan is at another place",
            next="look at every element of every trainable parameter, and give its full name",
        ),
        Criterion(
            "An inf of either sign is found.",
            finds_inf,
            why="x/0 leaves inf, and inf becomes nan one forward pass later",
            next="one function detects nan, inf and -inf alike",
        ),
        Criterion(
            "Several dead parameters are all named, each once.",
            finds_all,
            why="whether one tensor is dead or all of them tells you where it began",
            next="continue after the first one that you find, and give each name once",
        ),
        Criterion(
            "Frozen parameters and buffers are left out.",
            skips_what_no_optimizer_touches,
            why="the optimizer cannot have killed what it does not touch",
            next="look at requires_grad, and take parameters only",
        ),
    ),
    answer=dead_by_isfinite,
)
