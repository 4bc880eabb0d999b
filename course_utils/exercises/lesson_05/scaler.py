"""Exercise 05.2: the rule by which a gradient scaler changes its scale."""

import random
from collections.abc import Callable
from numbers import Real

from course_utils.checks.checking import leaves_its_inputs_alone
from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_05 import scaler_answers as given

GOOD, BAD = True, False


def _agree(scale_after, cases) -> str | None:
    for steps, scale, interval in cases:
        shown = "".join("+" if is_finite else "-" for is_finite in steps) or "none at all"
        case = f"steps {shown} (- is not finite), scale {scale:g}, interval {interval},"
        want = given.scale_by_torch(steps, scale, interval)
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
    return _agree(scale_after, runs)


def gives_a_number(scale_after) -> str | None:
    got = scale_after([GOOD, BAD, GOOD], 1024.0, 2)
    if hasattr(got, "numel") and got.numel() == 1:
        return None
    if isinstance(got, Real) and not isinstance(got, bool):
        return None
    return f"the scale at the end is asked, one number; it gives a {type(got).__name__}"


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
        "Go through the steps with a counter: a bad step halves and starts the row anew, a good "
        "one lengthens the row. What happens to both when the row is as long as the interval?",
    ),
    criteria=(
        Criterion(
            "From the scale given, every step that is not finite halves it.",
            halves_on_each_bad_step,
            why="a scale is the one before it, halved at every overflow",
            next="start with no step at all: the scale is as given, exactly; then one bad step",
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
        Criterion(
            "Any run of steps ends where torch's own scaler does.",
            any_run_of_steps,
            why="good and bad steps come in every order",
            next="follow the steps of the case above by hand: scale and count after each",
        ),
    ),
    right=(given.scale_in_a_loop, given.scale_by_torch, given.scale_by_runs_of_good_steps),
    wrong=(
        Wrong(given.scale_drops_to_a_tenth, caught_by=halves_on_each_bad_step),
        Wrong(given.scale_from_65536, caught_by=halves_on_each_bad_step),
        Wrong(given.scale_stops_at_one, caught_by=halves_below_one),
        Wrong(given.scale_doubles_each_good_step, caught_by=doubles_after_the_interval),
        Wrong(given.scale_never_grows, caught_by=doubles_after_the_interval),
        Wrong(given.scale_doubles_one_late, caught_by=doubles_after_the_interval),
        Wrong(given.scale_stops_doubling, caught_by=doubles_after_the_interval),
        Wrong(given.scale_in_whole_numbers, caught_by=halves_on_each_bad_step),
        Wrong(given.scale_counts_all_good_steps, caught_by=bad_step_starts_the_count_anew),
        Wrong(given.scale_counts_bad_steps_as_steps, caught_by=any_run_of_steps),
        Wrong(given.scale_keeps_the_count, caught_by=bad_step_starts_the_count_anew),
        Wrong(given.scale_capped, caught_by=any_run_of_steps),
        Wrong(given.scale_at_every_step, caught_by=gives_a_number),
        Wrong(given.scale_that_eats_the_steps, caught_by=leaves_its_inputs_alone),
    ),
    form=gives_a_number,
)
