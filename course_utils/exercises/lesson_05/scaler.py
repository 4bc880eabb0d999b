"""Exercise 05.2: the rule by which a gradient scaler changes its scale."""

from collections.abc import Callable

import torch

from course_utils.exercises.compare import number_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

GOOD, BAD = True, False


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


def _agree(scale_after, cases) -> str | None:
    for steps, scale, interval in cases:
        shown = "".join("+" if is_finite else "-" for is_finite in steps)
        given = f"steps {shown} (- is not finite), scale {scale:g}, interval {interval},"
        want = scale_by_torch(steps, scale, interval)
        seen = number_differs(
            scale_after(list(steps), scale, interval), want, rtol=1e-6, given=given
        )
        if seen:
            return seen
    return None


def halves_on_each_bad_step(scale_after) -> str | None:
    return _agree(scale_after, [([BAD], 65536.0, 2000), ([BAD] * 6, 65536.0, 2000)])


def halves_below_one(scale_after) -> str | None:
    return _agree(scale_after, [([BAD] * 20, 65536.0, 2000), ([BAD] * 3, 1.0, 5)])


def doubles_after_the_interval(scale_after) -> str | None:
    runs = [([GOOD] * n, 8.0, 3) for n in (1, 2, 3, 4, 5, 6, 9)]
    return _agree(scale_after, [*runs, ([GOOD] * 20, 65536.0, 2000)])


def bad_step_starts_the_count_anew(scale_after) -> str | None:
    mixed = [GOOD, GOOD, BAD, GOOD, GOOD, GOOD]
    return _agree(scale_after, [(mixed[:4], 8.0, 3), (mixed, 8.0, 3), (mixed * 2, 8.0, 3)])


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


def scale_stops_at_one(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        in_a_row = in_a_row + 1 if is_finite else 0
        if not is_finite:
            scale = max(scale / 2, 1.0)
        elif in_a_row % interval == 0:
            scale *= 2
    return scale


def scale_doubles_each_good_step(steps, scale, interval):
    for is_finite in steps:
        scale = scale * 2 if is_finite else scale / 2
    return scale


def scale_never_grows(steps, scale, interval):
    return scale * 0.5 ** sum(not is_finite for is_finite in steps)


def scale_counts_all_good_steps(steps, scale, interval):
    good = sum(steps)
    return scale * 2.0 ** (good // interval) * 0.5 ** (len(steps) - good)


def scale_drops_to_a_tenth(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        in_a_row = in_a_row + 1 if is_finite else 0
        if not is_finite:
            scale /= 10
        elif in_a_row % interval == 0:
            scale *= 10
    return scale


def scale_doubles_one_late(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        if not is_finite:
            scale, in_a_row = scale / 2, 0
        elif in_a_row == interval:
            scale, in_a_row = scale * 2, 0
        else:
            in_a_row += 1
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
        "A bad step: scale / 2 and the row is 0 again. A good one: the row grows by 1, and when it "
        "reaches the interval, scale * 2 and the row is 0.",
    ),
    criteria=(
        Criterion(
            "Every step that is not finite halves the scale.",
            halves_on_each_bad_step,
            why="the scaler takes every overflow for a scale that is too large",
            next="start with the steps that are all bad",
        ),
        Criterion(
            "It goes on halving below 1.",
            halves_below_one,
            why="torch knows no floor: a scale below 1 shrinks the gradients",
            next="count: 65536 is 2 to the 16th, and there are 20 bad steps",
        ),
        Criterion(
            "The scale doubles after each full interval of good steps, and not before.",
            doubles_after_the_interval,
            why="growth is how the scaler probes for more room, once in 2000 steps by default",
            next="count the good steps in a row and compare with the interval",
        ),
        Criterion(
            "A bad step starts the count of good steps anew.",
            bad_step_starts_the_count_anew,
            why="one overflow is a sign that the scale is near its limit",
            next="set the count to 0 in the branch of the bad step",
        ),
    ),
    right=(scale_in_a_loop, scale_by_torch),
    wrong=(
        Wrong(scale_drops_to_a_tenth, caught_by=halves_on_each_bad_step),
        Wrong(scale_stops_at_one, caught_by=halves_below_one),
        Wrong(scale_doubles_each_good_step, caught_by=doubles_after_the_interval),
        Wrong(scale_never_grows, caught_by=doubles_after_the_interval),
        Wrong(scale_doubles_one_late, caught_by=doubles_after_the_interval),
        Wrong(scale_counts_all_good_steps, caught_by=bad_step_starts_the_count_anew),
    ),
)
