"""Exercise 05.1: the largest magnitude that each module puts out."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.input_fingerprint import changed, fingerprint
from course_utils.checks.sample_modules import Net


def _true_peaks(factors: list[float], x: Tensor, shift: Tensor) -> dict[str, float]:
    """What each module of `Net` puts out at most, from the arithmetic alone, in float64."""
    x, shift = x.double(), shift.double()
    stem, up, down, up_1, down_1 = factors
    first = 1 + x * stem * up * down
    inner = (first + shift) * up_1
    put_out = {
        "stem": x * stem,
        "layers.0.up": x * stem * up,
        "layers.0": first,
        "layers.1.up": inner,
        "layers.1": 1 + inner * down_1,
    }
    return {name: float(values.abs().max()) for name, values in put_out.items()}


POSITIVE = ([2.0, 3.0, 1.0, 0.5, 4.0], [0.25, 8.0, 1.5, 2.0, 3.0], [1.0, 0.5, 2.0, 6.0, 0.5])
FACTORS = ([2.0, -3.0, 1.0, 0.5, 4.0], [0.25, 8.0, -1.5, -2.0, 3.0], [-1.0, 0.5, 2.0, 6.0, -0.5])


def _differs(peaks, x: Tensor, factors: list[float], names: list[str] | None = None) -> str | None:
    net, shift = Net(factors), torch.full_like(x, 3.0)
    want = _true_peaks(factors, x, shift)
    names = names or list(want)
    found = peaks(net, {"x": x, "shift": shift}, list(names))
    for name in names:
        where = (
            f"an input of shape {tuple(x.shape)}, where {name!r} puts out {want[name]:g} at most,"
        )
        if seen := number_differs(found[name], want[name], rtol=1e-5, given=where):
            return seen
    return None


def gives_a_dict_by_name(peaks) -> str | None:
    names = ["layers.0.up", "stem"]
    ones = torch.ones(2, 3)
    found = peaks(Net(FACTORS[0]), {"x": ones, "shift": ones}, list(names))
    if not isinstance(found, dict):
        return f"a dict from name to number is asked for; it gives a {type(found).__name__}"
    if set(found) == set(names):
        texts = [name for name, value in found.items() if isinstance(value, str)]
        return f"the value of {texts[0]!r} is a str, where a number is asked for" if texts else None
    bound = "; a hook reads a loop variable when it runs, not when it is made"
    return f"asked for {sorted(names)}, the keys are {sorted(map(str, found))}{bound}"


def _inputs(shape: tuple[int, ...], seed: int, *, sign: float) -> Tensor:
    """Small numbers, and one large one of this sign in the last place."""
    x = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    x.reshape(-1)[-1] = 9.0 * sign
    return x


def each_module_by_name(peaks) -> str | None:
    for seed, shape in enumerate(((4,), (3, 2, 5), (1, 6))):
        x = _inputs(shape, seed, sign=1.0).abs()  # nothing negative: signs are judged below
        for names in (None, ["layers.1"], ["layers.1.up", "stem"]):
            if seen := _differs(peaks, x, POSITIVE[seed], names):
                return seen
    return None


def magnitude_counts(peaks) -> str | None:
    # One size is beyond float16's largest number, 65504: what the lesson looks for.
    for seed, size in ((5, 1.0), (6, -1.0), (7, 1e5)):
        for factors in FACTORS:
            if seen := _differs(peaks, _inputs((2, 7), seed, sign=size), factors):
                return seen
    return None


def bad_numbers_show(peaks) -> str | None:
    for bad in (math.inf, -math.inf, math.nan):
        x = torch.tensor([[1.0, 2.0], [bad, 3.0]])
        if seen := _differs(peaks, x, FACTORS[0]):
            return seen
    return None


def leaves_the_model_alone(peaks) -> str | None:
    net, ones = Net(FACTORS[0]), torch.ones(2, 2)
    net.layers[1].eval()  # within a model in train mode, as a frozen part often is
    net.stem.register_forward_hook(lambda *_: None)  # somebody else's, and it stays
    for weight in net.parameters():
        weight.grad = torch.ones_like(weight)  # of a step that is not over
    before = fingerprint(net, "the model"), [set(vars(m)) for m in net.modules()]
    with torch.enable_grad():
        peaks(net, {"x": ones, "shift": ones}, ["stem", "layers.0.up"])
        if not torch.is_grad_enabled():
            return "after the call torch records no gradient any more, for any model"
    if place := changed(before[0], fingerprint(net, "the model")):
        return f"the call has changed {place}"
    kept = before[1] == [set(vars(m)) for m in net.modules()]
    return None if kept else "after the call a module has a new attribute"


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
        "How do you get a module's output without changing the model's code?",
        "register_forward_hook(f) calls f(module, inputs, output). The name has to be bound when "
        "the hook is made: a loop variable is read later, when it has its last value. Whatever f "
        "returns takes the output's place, so let it return None.",
        "For each name: a function of (module, inputs, output, name=name) that writes the largest "
        "|output| into found[name], and a handle of its hook. Then one model(**batch) without "
        "gradients. What has to happen to the handles?",
    ),
    criteria=(
        Criterion(
            "Every module asked for is there, under its own name, with its largest output.",
            each_module_by_name,
            why="an overflow is found by its place; a wrong name sends you to the wrong layer",
            next="print found: is each name there, with the output and not the input? Does your "
            "hook return something? That would take the output's place.",
        ),
        Criterion(
            "Large numbers count as they are: negative ones, and those beyond 65504.",
            magnitude_counts,
            why="float16 ends at -65504 as well as at 65504",
            next="take the absolute value before the maximum, in the output's own format; and let "
            "the hook return None, because what it returns takes the output's place",
        ),
        Criterion(
            "inf and nan are reported as they are.",
            bad_numbers_show,
            why="an instrument that drops nan reports the worst place as healthy",
            next="torch's max lets nan through, and Python's max(0.0, nan) is 0.0; do not filter",
        ),
        Criterion(
            "The model is as it was: hooks, each module's mode, weights, gradients.",
            leaves_the_model_alone,
            why="a hook or a mode that stays changes the run that you look at",
            next="remove each hook by its handle; if you change modes, formats or requires_grad, "
            "set each back to what it was, torch's grad mode too",
        ),
    ),
    answer=peaks_with_hooks,
    form=gives_a_dict_by_name,
    may_change=(0,),  # leaves_the_model_alone looks, and says what to do
)
