"""Exercise 05.1: the largest magnitude that each module puts out."""

import math
from collections.abc import Callable

import torch
from torch import nn

from course_utils.exercises.compare import number_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong


class Times(nn.Module):
    """Known arithmetic, so that what every module puts out is known beforehand."""

    def __init__(self, factor: float, *, plus: float = 0.0) -> None:
        super().__init__()
        self.factor, self.plus = factor, plus

    def forward(self, x):
        return x * self.factor + self.plus


class Chain(nn.Module):
    """Puts out 2x, then 1 - 6x, then half of that: a changed sign on the way shows."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = Times(2.0), Times(-3.0, plus=1.0), Times(0.5)

    def forward(self, x):
        return self.third(self.second(self.first(x)))


NAMES = ("first", "second", "third")


def _differs(peaks, x: list[float], want: tuple[float, ...]) -> str | None:
    found = peaks(Chain(), {"x": torch.tensor(x)}, list(NAMES))
    if not isinstance(found, dict):
        return f"it gives a {type(found).__name__}, where a dict of name and number is asked"
    if set(found) != set(NAMES):
        return f"asked for {list(NAMES)}, it gives {sorted(map(str, found))}"
    for name, right in zip(NAMES, want, strict=True):
        given = f"x = {x}, where {name!r} puts out at most {right:g},"
        seen = number_differs(found[name], right, rtol=1e-5, given=given)
        if seen:
            return seen
    return None


def each_module_by_name(peaks) -> str | None:
    return _differs(peaks, [1.0, -1.0, 5.0, -5.0], (10.0, 31.0, 15.5))


def magnitude_counts(peaks) -> str | None:
    return _differs(peaks, [1.0, 5.0], (10.0, 29.0, 14.5)) or _differs(
        peaks, [-7.0, 2.0], (14.0, 43.0, 21.5)
    )


def bad_numbers_show(peaks) -> str | None:
    inf = math.inf
    return _differs(peaks, [1.0, inf, -inf], (inf, inf, inf)) or _differs(
        peaks, [1.0, math.nan], (math.nan, math.nan, math.nan)
    )


def leaves_no_hook(peaks) -> str | None:
    chain = Chain()
    peaks(chain, {"x": torch.ones(2)}, list(NAMES))
    left = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in chain.modules())
    return f"{left} hooks are still on the model after the call" if left else None


def peaks_with_hooks(model, batch, names):
    found = {}
    hooks = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: found.update({name: output.abs().max()})
        )
        for name in names
    ]
    with torch.no_grad():
        model(**batch)
    for hook in hooks:
        hook.remove()
    return {name: value.item() for name, value in found.items()}


def peaks_one_by_one(model, batch, names):
    found = {}
    for name in names:
        seen = []
        module = model.get_submodule(name)
        hook = module.register_forward_hook(lambda m, i, out, seen=seen: seen.append(out))
        with torch.no_grad():
            model(**batch)
        hook.remove()
        found[name] = float(torch.linalg.vector_norm(seen[0].flatten(), ord=float("inf")))
    return found


def peaks_late_name(model, batch, names):
    found, hooks = {}, []
    for name in names:
        module = model.get_submodule(name)
        hooks.append(
            module.register_forward_hook(lambda m, i, o: found.update({name: o.abs().max().item()}))  # noqa: B023
        )
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


def peaks_without_abs(model, batch, names):
    found, hooks = {}, []
    for name in names:

        def note(module, inputs, output, name=name):
            found[name] = output.max().item()

        hooks.append(model.get_submodule(name).register_forward_hook(note))
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


def peaks_of_inputs(model, batch, names):
    found, hooks = {}, []
    for name in names:

        def note(module, inputs, name=name):
            found[name] = inputs[0].abs().max().item()

        hooks.append(model.get_submodule(name).register_forward_pre_hook(note))
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


def peaks_that_change_the_model(model, batch, names):
    found = {}

    def note(name, output):
        found[name] = output.abs().max().item()
        return output.abs()

    hooks = [
        model.get_submodule(name).register_forward_hook(lambda m, i, o, name=name: note(name, o))
        for name in names
    ]
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


def peaks_left_behind(model, batch, names):
    found = {}
    for name in names:

        def note(module, inputs, output, name=name):
            found[name] = output.abs().max().item()

        model.get_submodule(name).register_forward_hook(note)
    model(**batch)
    return found


def peaks_of_finite(model, batch, names):
    found = peaks_with_hooks(model, batch, names)
    return {name: value if math.isfinite(value) else 0.0 for name, value in found.items()}


PEAKS = Exercise(
    id="05.1",
    name="PEAKS",
    title="How large does it get, module by module?",
    minutes=8,
    difficulty="a few lines",
    points=4,
    reads="peaks",
    expects=(Callable,),
    hints=(
        "How do you get at what a module puts out, without changing the model's code?",
        "register_forward_hook(f) calls f(module, inputs, output). The name has to be bound when "
        "the hook is made: a loop variable is read later, when it has its last value. Whatever f "
        "returns takes the output's place, so let it return None.",
        "hook = model.get_submodule(name).register_forward_hook(lambda m, i, out, name=name: "
        "found.update({name: out.abs().max().item()})); run the model; hook.remove() for each.",
    ),
    criteria=(
        Criterion(
            "Every asked module is there, under its own name, with what it puts out.",
            each_module_by_name,
            why="an overflow is found by its place; a wrong name sends you to the wrong layer",
            next="print found: is each name there, with the output and not the input? Does your "
            "hook return something? That would take the output's place.",
        ),
        Criterion(
            "A large negative number counts as large.",
            magnitude_counts,
            why="float16 ends at -65504 as it does at 65504",
            next="take the absolute value before the maximum",
        ),
        Criterion(
            "inf and nan are reported as they are.",
            bad_numbers_show,
            why="an instrument that drops nan says that all is well where it is worst",
            next="torch's max lets nan through; do not filter",
        ),
        Criterion(
            "No hook is left on the model.",
            leaves_no_hook,
            why="a hook that stays slows every later step and writes into an old dict",
            next="register_forward_hook returns a handle; call remove() on each",
        ),
    ),
    right=(peaks_with_hooks, peaks_one_by_one),
    wrong=(
        Wrong(peaks_late_name, caught_by=each_module_by_name),
        Wrong(peaks_of_inputs, caught_by=each_module_by_name),
        Wrong(peaks_that_change_the_model, caught_by=each_module_by_name),
        Wrong(peaks_without_abs, caught_by=magnitude_counts),
        Wrong(peaks_of_finite, caught_by=bad_numbers_show),
        Wrong(peaks_left_behind, caught_by=leaves_no_hook),
    ),
)
