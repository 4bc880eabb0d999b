"""Exercise 01.5: one step of a dynamic loss scaler."""

from collections.abc import Callable

import torch

from course_utils.checks.declare import Criterion, Exercise

NAN, INF = float("nan"), float("inf")


def step_by_torch(grads, scale, good_steps, interval):
    """The same step by torch's own GradScaler, on float32 weights that get these gradients."""
    weights = [torch.nn.Parameter(torch.zeros(grad.shape)) for grad in grads]
    optimizer = CountedSGD(weights, lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
    scaler.load_state_dict(scaler.state_dict() | {"_growth_tracker": good_steps})
    scaler.scale(torch.zeros(()))
    for weight, grad in zip(weights, grads, strict=True):
        weight.grad = grad.float()
    scaler.step(optimizer)
    scaler.update()
    unscaled = [weight.grad for weight in weights] if optimizer.num_steps else None
    return unscaled, scaler.get_scale(), scaler.state_dict()["_growth_tracker"]


class CountedSGD(torch.optim.SGD):
    """SGD that counts the steps it was allowed to take."""

    num_steps = 0

    def step(self, closure=None):
        self.num_steps += 1


def _half(*rows) -> list[torch.Tensor]:
    return [torch.tensor(row, dtype=torch.float16) for row in rows]


def _copy(grads: list[torch.Tensor]) -> list[torch.Tensor]:
    """What an answer may spoil: the next check starts from the same numbers."""
    return [grad.clone() for grad in grads]


FINE = _half((2.0, -8.0), (0.5,))
SHAPED = _half(((2.0, -8.0), (0.25, 3.0)), 0.5, (((1.0,),),))  # a matrix, a scalar, three axes
BROKEN = (
    _half((1.0, INF)),
    _half((NAN, 1.0)),
    _half((1.0,), (2.0, -INF)),
    _half((1.0,), (2.0,), (NAN,)),
    _half(((1.0, 2.0), (3.0, NAN)), 1.0),
    _half((INF, -INF), (0.0,)),
    _half((1.0,), (((1.0, -INF), (2.0, 3.0)),)),
    _half((1.0, 2.0), NAN),
    _half((), INF),
)


def _is_number(value: object) -> bool:
    return not isinstance(value, (bool, str)) and hasattr(value, "__float__")


def gives_three_things(scaler_step) -> str | None:
    for grads in (FINE, SHAPED, BROKEN[0]):
        result = scaler_step(_copy(grads), 8.0, 0, 2000)
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            size = f" of {len(result)}" if isinstance(result, (tuple, list)) else ""
            return f"it returns a {type(result).__name__}{size}, where three things are asked"
        unscaled, *state = result
        if seen := _gradients_have_form(unscaled, grads):
            return seen
        for name, value in zip(("scale", "number of good steps"), state, strict=True):
            if not _is_number(value):
                return f"the new {name} is {value!r}, where a number is asked"
    return None


def _gradients_have_form(unscaled: object, grads: list) -> str | None:
    if unscaled is None:
        return None
    if not isinstance(unscaled, (list, tuple)) or len(unscaled) != len(grads):
        return f"the gradients are {unscaled!r}, where a list of {len(grads)} tensors is asked"
    for mine, grad in zip(unscaled, grads, strict=True):
        if not isinstance(mine, torch.Tensor):
            return f"a gradient is a {type(mine).__name__}, where a tensor is asked"
        if (mine.dtype, mine.shape) != (torch.float32, grad.shape):
            seen = f"{mine.dtype} of shape {tuple(mine.shape)}"
            asked = f"float32 of shape {tuple(grad.shape)} is asked"
            return f"a gradient comes back as {seen}, where {asked}"
    return None


def unscales_in_float32(scaler_step) -> str | None:
    cases = (
        (FINE, 8.0, 0, 2000),
        (FINE, 2.0**-3, 5, 2000),
        (FINE, 1000.0, 5, 2000),
        (SHAPED, 0.25, 3, 9),
        (SHAPED, 4.0, 6, 7),  # the step that doubles the scale was made with the old one
        (_half((6e-8, 1.0), (-3e-5, 100.0)), 65536.0, 0, 2000),
    )
    for grads, scale, good_steps, interval in cases:
        got = scaler_step(_copy(grads), scale, good_steps, interval)[0]
        given = f"gradients {[g.tolist() for g in grads]} at scale {scale:g}"
        if got is None:
            return f"for {given} it skips the step"
        for mine, grad in zip(got, grads, strict=True):
            want = grad.double() / scale
            if not torch.allclose(mine.double(), want, rtol=1e-5, atol=0):
                return f"for {given} it gives {mine.tolist()}, it should give {want.tolist()}"
    return None


def skips_broken_steps(scaler_step) -> str | None:
    for grads in BROKEN:
        if scaler_step(_copy(grads), 8.0, 0, 2000)[0] is not None:
            return f"for gradients {[g.tolist() for g in grads]} it does not skip the step"
    return None


def keeps_finite_steps(scaler_step) -> str | None:
    for grads in (
        _half((6e4, 6e4, 6e4)),
        _half((65504.0,), (-65504.0,)),
        _half((0.0, 1e-7)),
        _half((0.0, 0.0), (0.0,)),
        _half((), (1.0,)),
    ):
        if scaler_step(_copy(grads), 1024.0, 0, 2000)[0] is None:
            return f"for gradients {[g.tolist() for g in grads]}, all finite, it skips the step"
    return None


def _follow(scaler_step, steps: str, scale: float, interval: int) -> str | None:
    mine = torchs = (scale, 0)
    for number, step in enumerate(steps, start=1):
        grads = FINE if step == "+" else BROKEN[number % len(BROKEN)]
        given = _copy(grads)
        mine = tuple(float(part) for part in scaler_step(given, *mine, interval)[1:])
        torchs = step_by_torch(grads, *torchs, interval)[1:]
        if mine != torchs:
            taken = steps[:number] if number < 13 else f"{number} times {steps[0]}"
            return (
                f"from scale {scale:g}, after steps {taken} (- is broken) with interval "
                f"{interval}, it has scale {mine[0]:g} and {mine[1]:g} good steps, torch has "
                f"{torchs[0]:g} and {torchs[1]}"
            )
        mine = (mine[0], int(mine[1]))
    return None


def halves_and_starts_anew(scaler_step) -> str | None:
    runs = (("---", 65536.0, 2000), ("++-+-", 8.0, 9), ("-----", 2.0, 5), ("-+-", 3.0, 5))
    runs += (("-" * 120, 2.0**10, 5),)  # down to 2^-110: no lowest scale
    return next(filter(None, (_follow(scaler_step, *run) for run in runs)), None)


def doubles_after_the_interval(scaler_step) -> str | None:
    runs = (
        ("+++++++", 8.0, 3),
        ("++-+++++", 1.0, 2),
        ("+++", 65536.0, 1),
        ("++", 0.25, 2),
        ("+" * 12, 2.0, 11),
        ("+" * 130, 2.0**-10, 1),  # up to 2^120: no highest scale
    )
    return next(filter(None, (_follow(scaler_step, *run) for run in runs)), None)


def scaler_as_loop(grads, scale, good_steps, interval):
    if not all(torch.isfinite(grad).all() for grad in grads):
        return None, scale / 2, 0
    unscaled = [grad.float() / scale for grad in grads]
    if good_steps + 1 == interval:
        return unscaled, scale * 2, 0
    return unscaled, scale, good_steps + 1


SCALER = Exercise(
    id="01.5",
    name="SCALER",
    title="One step of a loss scaler",
    minutes=6,
    difficulty="six lines",
    points=4,
    reads="scaler_step",
    expects=(Callable,),
    hints=(
        "What must you know before you divide anything?",
        "One inf or nan in any gradient makes the whole step worthless: return None for it, halve "
        "the scale, and start to count again.",
        "Otherwise divide in float32 and count one more good step. What happens to scale and count "
        "when the count reaches the interval, and by which scale was this step's gradient scaled?",
    ),
    form=gives_three_things,
    criteria=(
        Criterion(
            "Finite gradients come back divided by the scale, in float32.",
            unscales_in_float32,
            why="6e-8 at scale 65536 stands for 9e-13: float16 cannot hold that, and another scale "
            "gives another number",
            next="cast first, then divide, by the scale that was given",
        ),
        Criterion(
            "An inf or nan in any gradient makes the step None.",
            skips_broken_steps,
            why="clipping would spread it to every weight",
            next="look at every tensor, and at nan as well as inf",
        ),
        Criterion(
            "No finite step is skipped.",
            keeps_finite_steps,
            why="float16 holds numbers up to 65504, and a sum of such numbers overflows though "
            "none of them did; zeros and a tensor without elements are finite too",
            next="ask each element whether it is finite; do not compare sizes or take a sum",
        ),
        Criterion(
            "A broken step halves the scale and sets the count to 0, as in torch.",
            halves_and_starts_anew,
            why="the scaler takes an overflow as a sign that the scale is too large",
            next="what are scale and good_steps after the steps ++-? And which scale follows 1.0?",
        ),
        Criterion(
            "A full interval of good steps doubles the scale, as in torch.",
            doubles_after_the_interval,
            why="growth looks for the largest scale that still fits",
            next="with interval 3, after which step is the scale doubled?",
        ),
    ),
    answer=scaler_as_loop,
    time_limit_s=60.0,  # the first optimizer of a process takes seconds to import
)
