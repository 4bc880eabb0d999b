"""Exercise 06.2: which trainable parameters got no gradient, when nothing raised."""

from collections.abc import Callable

import torch
from torch import nn

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.sample_modules import Adapted
from course_utils.reproductions.lesson_06.small_models import classifier, examples, seeded

ADAPTERS = ("layers.0.lora_A", "layers.0.lora_B", "layers.1.lora_A", "layers.1.lora_B")


def _model(lora_B: float) -> nn.ModuleDict:
    layers = nn.Sequential(Adapted(lora_B), Adapted(lora_B))
    return nn.ModuleDict({"layers": layers, "score": nn.Linear(4, 1, bias=False)})


def _after_backward(*, cut: str = "", lora_B: float = 0.5) -> nn.ModuleDict:
    """Two adapted layers and a head after one backward pass, the graph cut before `cut`."""
    model = seeded(lambda: _model(lora_B))
    hidden = seeded(lambda: torch.randn(3, 4))
    for name, module in (*model["layers"].named_children(), ("score", model["score"])):
        hidden = module(hidden.detach() if name == cut else hidden)
    hidden.sum().backward()
    return model


def names_in_a_list(without_gradient) -> str | None:
    got = without_gradient(_after_backward(cut="score"))
    if not isinstance(got, (list, tuple, set, frozenset)):
        kind = type(got).__name__
        return f"it returns a {kind}, where a list, tuple or set of names is needed"
    others = {type(item).__name__ for item in got if not isinstance(item, str)}
    if others:
        return f"the list holds items of type {', '.join(sorted(others))}, where names are needed"
    return None


def _differs(got: object, want: tuple[str, ...], *, given: str) -> str | None:
    if sorted(got) == sorted(want):
        return None
    return f"for {given} it gives {sorted(got)}, it should be {sorted(want)}"


def finds_starved_adapters(without_gradient) -> str | None:
    got = without_gradient(_after_backward(cut="score"))
    return _differs(got, ADAPTERS, given="a graph that is cut below the head")


def finds_part_of_them(without_gradient) -> str | None:
    got = without_gradient(_after_backward(cut="1"))
    return _differs(got, ADAPTERS[:2], given="a graph that is cut between two layers")


def finds_unused_head(without_gradient) -> str | None:
    model = _after_backward()
    model["score"].weight.grad = None
    got = without_gradient(model)
    return _differs(got, ("score.weight",), given="a head that no loss used")


def other_names_are_found(without_gradient) -> str | None:
    """A classifier in evaluation mode: other names, no adapters, two kinds of frozen weights."""
    model = classifier(depth=2).eval()
    model.body[0].requires_grad_(False)
    model.body[2].bias.requires_grad_(False)
    model.head(model.body(examples()[0]).detach()).sum().backward()
    model.body[0].weight.grad = torch.ones_like(model.body[0].weight)  # of before it was frozen
    model.head.bias.grad = None
    model.temperature = nn.Parameter(torch.ones(1))  # of the model itself, in no part of it
    given = "a classifier whose first layer is frozen and whose body is cut off"
    asked = ("body.2.weight", "head.bias", "temperature")
    if seen := _differs(without_gradient(model), asked, given=given):
        return seen
    prefix = "base_model.model."  # what PEFT puts before every name
    wrapped = nn.ModuleDict({"base_model": nn.ModuleDict({"model": _after_backward(cut="1")})})
    asked = tuple(prefix + name for name in ADAPTERS[:2])
    return _differs(without_gradient(wrapped), asked, given="names as PEFT gives them")


def healthy_first_step_is_empty(without_gradient) -> str | None:
    got = without_gradient(_after_backward(lora_B=0.0))
    return _differs(got, (), given="a healthy first step, where lora_B is 0")


def a_gradient_of_nan_is_one(without_gradient) -> str | None:
    model = _after_backward()
    model["score"].weight.grad.fill_(float("nan"))
    return _differs(without_gradient(model), (), given="a gradient of nan")


def without_gradient_by_none(model):
    return [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]


SILENT = Exercise(
    id="06.2",
    name="SILENT",
    title="Name what gets no gradient",
    minutes=3,
    difficulty="one line",
    points=3,
    reads="without_gradient",
    expects=(Callable,),
    hints=(
        "After backward(), what is `.grad` of a weight that no gradient reached?",
        "A gradient of zeros was computed; None was not. lora_A's first gradient is all zeros.",
        "named_parameters() gives pairs of a name and a weight. Ask two questions about each "
        "weight to decide whether its name is kept; the second is about None, not about 0.",
    ),
    form=names_in_a_list,
    criteria=(
        Criterion(
            "All adapters below a cut are named, and nothing frozen is.",
            finds_starved_adapters,
            why="the head above the cut trains, so the loss falls all the same",
            next="ask for .grad of every parameter that requires grad",
        ),
        Criterion(
            "Where only the lower layers are cut off, only those are named.",
            finds_part_of_them,
            why="half an adapter trains without an error, too",
            next="look at each parameter by itself",
        ),
        Criterion(
            "A trainable weight that is no adapter is named as well.",
            finds_unused_head,
            why="a head that gets no gradient is a fault, too",
            next="do not choose by name",
        ),
        Criterion(
            "Every kind of model is read: other names, biases, frozen parts, evaluation mode.",
            other_names_are_found,
            why="the next run that you look at has other names",
            next="use requires_grad and grad of each parameter, and give its name as it is",
        ),
        Criterion(
            "A healthy first step names nothing.",
            healthy_first_step_is_empty,
            why="lora_A's gradient is multiplied by lora_B, which starts at 0: zero, yet healthy",
            next="tell None from a tensor of zeros",
        ),
        Criterion(
            "A gradient of nan counts as reached.",
            a_gradient_of_nan_is_one,
            why="a nan came through the whole graph: that is another fault",
            next="ask whether there is a gradient, not how large it is",
        ),
    ),
    answer=without_gradient_by_none,
)
