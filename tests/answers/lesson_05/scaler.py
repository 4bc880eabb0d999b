"""Right and wrong answers of exercise 05.2."""

from course_utils.checks.checking import leaves_its_inputs_alone
from course_utils.exercises.lesson_05 import scaler
from course_utils.exercises.lesson_05.scaler import scale_by_torch, scale_in_a_loop
from tests.answers import answers_of

right, wrong = answers_of(scaler.SCALER)


@wrong(caught_by=scaler.halves_below_one)
def scale_stops_at_one(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        in_a_row = in_a_row + 1 if is_finite else 0
        if not is_finite:
            scale = max(scale / 2, 1.0)
        elif in_a_row % interval == 0:
            scale *= 2
    return scale


@wrong(caught_by=scaler.doubles_after_the_interval)
def scale_doubles_each_good_step(steps, scale, interval):
    for is_finite in steps:
        scale = scale * 2 if is_finite else scale / 2
    return scale


@wrong(caught_by=scaler.doubles_after_the_interval)
def scale_never_grows(steps, scale, interval):
    return scale * 0.5 ** sum(not is_finite for is_finite in steps)


@wrong(caught_by=scaler.bad_step_starts_the_count_anew)
def scale_counts_all_good_steps(steps, scale, interval):
    good = sum(steps)
    return scale * 2.0 ** (good // interval) * 0.5 ** (len(steps) - good)


@wrong(caught_by=scaler.halves_on_each_bad_step)
def scale_drops_to_a_tenth(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        in_a_row = in_a_row + 1 if is_finite else 0
        if not is_finite:
            scale /= 10
        elif in_a_row % interval == 0:
            scale *= 10
    return scale


@wrong(caught_by=scaler.doubles_after_the_interval)
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


@right
def scale_by_runs_of_good_steps(steps, scale, interval):
    """Splits the steps at the bad ones."""
    rows = "".join("+" if is_finite else "-" for is_finite in steps).split("-")
    return scale * 2.0 ** (sum(len(row) // interval for row in rows) - len(rows) + 1)


@wrong(caught_by=scaler.any_run_of_steps)
def scale_counts_bad_steps_as_steps(steps, scale, interval):
    count = 0
    for is_finite in steps:
        count += 1
        if not is_finite:
            scale /= 2
        elif count == interval:
            scale *= 2
        if count == interval:
            count = 0
    return scale


@wrong(caught_by=scaler.bad_step_starts_the_count_anew)
def scale_keeps_the_count(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        if not is_finite:
            scale /= 2
        else:
            in_a_row += 1
            if in_a_row == interval:
                scale, in_a_row = scale * 2, 0
    return scale


@wrong(caught_by=scaler.halves_on_each_bad_step)
def scale_in_whole_numbers(steps, scale, interval):
    return int(scale_in_a_loop(steps, scale, interval))


@wrong(caught_by=scaler.doubles_after_the_interval)
def scale_stops_doubling(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        in_a_row = in_a_row + 1 if is_finite else 0
        if not is_finite:
            scale /= 2
        elif in_a_row == interval:
            scale *= 2
    return scale


@wrong(caught_by=scaler.gives_a_number)
def scale_at_every_step(steps, scale, interval):
    return [scale_in_a_loop(steps[: n + 1], scale, interval) for n in range(len(steps))]


@wrong(caught_by=leaves_its_inputs_alone)
def scale_that_eats_the_steps(steps, scale, interval):
    in_a_row = 0
    while steps:
        in_a_row = in_a_row + 1 if steps.pop(0) else 0
        if not in_a_row:
            scale /= 2
        elif in_a_row % interval == 0:
            scale *= 2
    return scale


@wrong(caught_by=scaler.any_run_of_steps)
def scale_capped(steps, scale, interval):
    in_a_row = 0
    for is_finite in steps:
        in_a_row = in_a_row + 1 if is_finite else 0
        if not is_finite:
            scale /= 2
        elif in_a_row % interval == 0:
            scale = min(scale * 2, 2.0**16)
    return scale


@wrong(caught_by=scaler.halves_on_each_bad_step)
def scale_from_65536(steps, scale, interval):
    return scale_in_a_loop(steps, 65536.0, interval)


right(scale_by_torch)
