"""Exercise 01.5: one step of a dynamic loss scaler."""

from collections.abc import Callable

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong

NAN, INF = float("nan"), float("inf")


def step_by_torch(grads, scale, good_steps, interval):
    """The same step by torch's own GradScaler, on float32 weights that get these gradients."""
    weights = [torch.nn.Parameter(torch.zeros(len(grad))) for grad in grads]
    optimizer = torch.optim.SGD(weights, lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
    scaler.load_state_dict(scaler.state_dict() | {"_growth_tracker": good_steps})
    scaler.scale(torch.zeros(()))
    for weight, grad in zip(weights, grads, strict=True):
        weight.grad = grad.float()
    scaler.step(optimizer)
    scaler.update()
    moved = any(weight.any() for weight in weights)
    unscaled = [-weight.detach() for weight in weights] if moved else None
    return unscaled, scaler.get_scale(), scaler.state_dict()["_growth_tracker"]


def _half(*rows: tuple[float, ...]):
    return [torch.tensor(row, dtype=torch.float16) for row in rows]


FINE = _half((2.0, -8.0), (0.5,))
BROKEN = (
    _half((1.0, INF)),
    _half((NAN, 1.0)),
    _half((1.0,), (2.0, -INF)),
    _half((1.0,), (2.0,), (NAN,)),
)


def _result(scaler_step, grads, scale, good_steps, interval):
    result = scaler_step([grad.clone() for grad in grads], scale, good_steps, interval)
    if not isinstance(result, tuple) or len(result) != 3:
        raise TypeError(f"it returned a {type(result).__name__}, where three things are asked")
    return result


def unscales_in_float32(scaler_step) -> str | None:
    cases = ((FINE, 8.0), (FINE, 2.0**-3), (_half((6e-8, 1.0), (-3e-5, 100.0)), 65536.0))
    for grads, scale in cases:
        got, want = (_result(s, grads, scale, 0, 2000)[0] for s in (scaler_step, step_by_torch))
        given = f"gradients {[g.tolist() for g in grads]} at scale {scale:g}"
        if got is None:
            return f"for {given} it skips the step"
        for mine, theirs in zip(got, want, strict=True):
            if not torch.allclose(mine.double(), theirs.double(), rtol=1e-5, atol=0):
                return f"for {given} it gives {mine.tolist()}, torch gives {theirs.tolist()}"
    return None


def skips_broken_steps(scaler_step) -> str | None:
    for grads in BROKEN:
        if _result(scaler_step, grads, 8.0, 0, 2000)[0] is not None:
            return f"for gradients {[g.tolist() for g in grads]} it does not skip the step"
    return None


def keeps_finite_steps(scaler_step) -> str | None:
    for grads in (_half((6e4, 6e4, 6e4)), _half((5e4,), (-5e4,)), _half((0.0, 1e-7))):
        if _result(scaler_step, grads, 1024.0, 0, 2000)[0] is None:
            return f"for gradients {[g.tolist() for g in grads]}, all finite, it skips the step"
    return None


def _follow(scaler_step, steps: str, scale: float, interval: int) -> str | None:
    mine = torchs = (scale, 0)
    for number, step in enumerate(steps, start=1):
        grads = FINE if step == "+" else BROKEN[number % len(BROKEN)]
        mine = tuple(_result(scaler_step, grads, *mine, interval)[1:])
        torchs = step_by_torch(grads, *torchs, interval)[1:]
        if mine != torchs:
            return (
                f"after steps {steps[:number]} (- is broken) with interval {interval}, it has "
                f"scale and good steps {mine}, torch has {torchs}"
            )
    return None


def halves_and_starts_anew(scaler_step) -> str | None:
    return _follow(scaler_step, "---", 65536.0, 2000) or _follow(scaler_step, "++-+-", 8.0, 9)


def doubles_after_the_interval(scaler_step) -> str | None:
    return _follow(scaler_step, "+++++++", 8.0, 3) or _follow(scaler_step, "++-+++++", 1.0, 2)


def scaler_as_loop(grads, scale, good_steps, interval):
    if not all(torch.isfinite(grad).all() for grad in grads):
        return None, scale / 2, 0
    unscaled = [grad.float() / scale for grad in grads]
    if good_steps + 1 == interval:
        return unscaled, scale * 2, 0
    return unscaled, scale, good_steps + 1


def scaler_unscaling_in_float16(grads, scale, good_steps, interval):
    unscaled, *state = scaler_as_loop(grads, scale, good_steps, interval)
    return None if unscaled is None else [grad / scale for grad in grads], *state


def scaler_that_forgets_to_unscale(grads, scale, good_steps, interval):
    unscaled, *state = scaler_as_loop(grads, scale, good_steps, interval)
    return None if unscaled is None else [grad.float() for grad in grads], *state


def scaler_looking_at_the_first(grads, scale, good_steps, interval):
    if not torch.isfinite(grads[0]).all():
        return None, scale / 2, 0
    unscaled = [grad.float() / scale for grad in grads]
    grown = good_steps + 1 == interval
    return unscaled, scale * 2 if grown else scale, 0 if grown else good_steps + 1


def scaler_blind_to_nan(grads, scale, good_steps, interval):
    if any(grad.isinf().any() for grad in grads):
        return None, scale / 2, 0
    return scaler_as_loop([grad.nan_to_num() for grad in grads], scale, good_steps, interval)


def scaler_looking_at_the_sum(grads, scale, good_steps, interval):
    if not torch.isfinite(sum(grad.abs().sum() for grad in grads)):
        return None, scale / 2, 0
    return scaler_as_loop(grads, scale, good_steps, interval)


def scaler_that_keeps_its_count(grads, scale, good_steps, interval):
    unscaled, scale, count = scaler_as_loop(grads, scale, good_steps, interval)
    return unscaled, scale, good_steps if unscaled is None else count


def scaler_that_never_halves(grads, scale, good_steps, interval):
    unscaled, new_scale, count = scaler_as_loop(grads, scale, good_steps, interval)
    return unscaled, scale if unscaled is None else new_scale, count


def scaler_one_step_late(grads, scale, good_steps, interval):
    return scaler_as_loop(grads, scale, good_steps, interval + 1)


def scaler_that_never_grows(grads, scale, good_steps, interval):
    return scaler_as_loop(grads, scale, good_steps, float("inf"))


SCALER = Exercise(
    id="01.5",
    name="SCALER",
    title="One step of a loss scaler",
    minutes=7,
    difficulty="six lines",
    points=4,
    reads="scaler_step",
    expects=(Callable,),
    hints=(
        "What must be known before anything is divided?",
        "One inf or nan in any gradient makes the whole step worthless: return None for it, halve "
        "the scale, and start to count again.",
        "Otherwise divide grad.float() by the scale, count one more good step, and when the count "
        "reaches the interval, double the scale and set the count to 0.",
    ),
    criteria=(
        Criterion(
            "Finite gradients come back divided by the scale, in float32.",
            unscales_in_float32,
            why="6e-8 is the smallest float16: divided there it is 0, and the scaling was in vain",
            next="cast first, then divide",
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
            why="a sum of large float16 numbers overflows though none of them did",
            next="ask each element, not their sum",
        ),
        Criterion(
            "A broken step halves the scale and starts the count anew, as in torch.",
            halves_and_starts_anew,
            why="the overflow is taken for a scale that is too large",
            next="what are scale and good_steps after the steps ++-?",
        ),
        Criterion(
            "A full interval of good steps doubles the scale, as in torch.",
            doubles_after_the_interval,
            why="growth looks for the largest scale that still fits",
            next="with interval 3, after which step is the scale doubled?",
        ),
    ),
    right=(scaler_as_loop, step_by_torch),
    wrong=(
        Wrong(scaler_unscaling_in_float16, caught_by=unscales_in_float32),
        Wrong(scaler_that_forgets_to_unscale, caught_by=unscales_in_float32),
        Wrong(scaler_looking_at_the_first, caught_by=skips_broken_steps),
        Wrong(scaler_blind_to_nan, caught_by=skips_broken_steps),
        Wrong(scaler_looking_at_the_sum, caught_by=keeps_finite_steps),
        Wrong(scaler_that_keeps_its_count, caught_by=halves_and_starts_anew),
        Wrong(scaler_that_never_halves, caught_by=halves_and_starts_anew),
        Wrong(scaler_one_step_late, caught_by=doubles_after_the_interval),
        Wrong(scaler_that_never_grows, caught_by=doubles_after_the_interval),
    ),
    time_limit_s=60.0,  # the first optimizer of a process takes seconds to import
)
