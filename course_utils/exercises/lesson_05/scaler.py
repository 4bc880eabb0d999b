"""Exercise 05.2: the rule by which a gradient scaler changes its scale."""

import random
from collections.abc import Callable
from itertools import groupby
from numbers import Real

import torch

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise

GOOD, BAD = True, False


def _as_typed(steps: list[bool]) -> str:
    """The list as Python code, each run of equal steps as one product.

    >>> _as_typed([True, True, False, True]), _as_typed([False] * 20), _as_typed([])
    ('[True] * 2 + [False] + [True]', '[False] * 20', '[]')
    """
    runs = ((step, len(list(same))) for step, same in groupby(steps))
    return " + ".join(f"[{s}]" + (f" * {n}" if n > 1 else "") for s, n in runs) or "[]"


def _agree(scale_after, cases) -> str | None:
    for steps, scale, interval in cases:
        case = f"scale_after({_as_typed(steps)}, {scale:g}, {interval})"
        want = scale_by_torch(steps, scale, interval)
        seen = number_differs(
            scale_after(list(steps), scale, interval), want, rtol=1e-6, given=case
        )
        if seen:
            return seen
    return None


def halves_on_each_bad_step(scale_after) -> str | None:
    runs = [([BAD] * n, scale, 2000) for n in (0, 1, 6) for scale in (65536.0, 1000.0)]
    return _agree(scale_after, runs)


def halves_below_one(scale_after) -> str | None:
    return _agree(scale_after, [([BAD] * 20, 65536.0, 2000), ([BAD] * 3, 1.0, 5), ([BAD], 7, 3)])


def doubles_after_the_interval(scale_after) -> str | None:
    runs = [([GOOD] * n, 8.0, interval) for interval in (1, 3, 4) for n in (1, 2, 3, 4, 5, 6, 9)]
    return _agree(scale_after, [*runs, ([GOOD] * 20, 65536.0, 2000)])


def bad_step_starts_the_count_anew(scale_after) -> str | None:
    mixed = [GOOD, GOOD, BAD, GOOD, GOOD, GOOD]
    return _agree(scale_after, [(mixed[:4], 8.0, 3), (mixed, 8.0, 3), (mixed * 2, 8.0, 3)])


def any_run_of_steps(scale_after) -> str | None:
    rng = random.Random(17)
    runs = []
    for _ in range(30):
        steps = [rng.random() < 0.75 for _ in range(rng.randint(2, 25))]
        runs.append((steps, 2.0 ** rng.randint(0, 20), rng.randint(1, 5)))
    return _agree(scale_after, sorted(runs, key=lambda run: len(run[0])))


def gives_a_number(scale_after) -> str | None:
    got = scale_after([GOOD, BAD, GOOD], 1024.0, 2)
    if hasattr(got, "numel") and got.numel() == 1:
        return None
    if isinstance(got, Real) and not isinstance(got, bool):
        return None
    if got is None:
        return "one number is asked for, the scale at the end; it gives None: is a return missing?"
    return f"one number is asked for, the scale at the end; it gives a {type(got).__name__}"


def scale_by_torch(steps, scale, interval):
    """What torch's own GradScaler makes of the same steps, on one weight."""
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
    for is_finite in steps:
        loss = weight.sum() * (1.0 if is_finite else float("nan"))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return scaler.get_scale()


def scale_in_a_loop(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        if not is_finite:
            scale, in_a_row = scale / 2, 0
        else:
            in_a_row += 1
            if in_a_row == interval:
                scale, in_a_row = scale * 2, 0
    return scale


SCALER = Exercise(
    id="05.2",
    name="SCALER",
    title="The gradient scaler's rule",
    minutes=6,
    difficulty="a few lines",
    points=3,
    reads="scale_after",
    expects=(Callable,),
    hints=(
        "What does the scaler know when it decides? Only whether the gradients were finite.",
        "Two numbers are kept: the scale, and how many good steps came in a row.",
        "Go through the steps with a counter: a bad step halves the scale and sets the "
        "counter to 0, a good one adds 1. What happens to both when the counter reaches interval?",
    ),
    criteria=(
        Criterion(
            "From the scale given, every step that is not finite halves it.",
            halves_on_each_bad_step,
            why="each overflow halves the scale that was there before",
            next="run the call above, and follow it by hand: begin with the scale that is given, "
            "and halve it at each False, without rounding",
        ),
        Criterion(
            "It goes on halving below 1.",
            halves_below_one,
            why="torch knows no floor: a scale below 1 shrinks the gradients",
            next="65536 is 2 to the 16th: after 16 halvings the scale is 1, and more follow. What "
            "stops yours?",
        ),
        Criterion(
            "The scale doubles after each full interval of good steps, and not before.",
            doubles_after_the_interval,
            why="growth is how the scaler probes for more room, once in 2000 steps by default",
            next="run the call above, and follow the count of good steps: at `interval` the scale "
            "doubles, and the count begins again at 0",
        ),
        Criterion(
            "A bad step starts the count of good steps again.",
            bad_step_starts_the_count_anew,
            why="one overflow is a sign that the scale is near its limit",
            next="run the call above, and print the count after each step: what is it after the "
            "False?",
        ),
        Criterion(
            "Any run of steps ends where torch's own scaler does.",
            any_run_of_steps,
            why="good and bad steps come in every order",
            next="run the call above, and follow it by hand: scale and count after each step",
        ),
    ),
    answer=scale_in_a_loop,
    form=gives_a_number,
)
