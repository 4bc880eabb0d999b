"""Right and wrong answers of exercise 01.5."""

import torch

from course_utils.checks import checking
from course_utils.exercises.lesson_01 import scaler
from course_utils.exercises.lesson_01.scaler import INF, scaler_as_loop, step_by_torch
from tests.answers import answers_of

right, wrong = answers_of(scaler.SCALER)


@wrong(caught_by=scaler.gives_three_things)
def scaler_unscaling_in_float16(grads, scale, good_steps, interval):
    unscaled, *state = scaler_as_loop(grads, scale, good_steps, interval)
    return None if unscaled is None else [grad / scale for grad in grads], *state


@wrong(caught_by=scaler.unscales_in_float32)
def scaler_dividing_in_float16(grads, scale, good_steps, interval):
    unscaled, *state = scaler_as_loop(grads, scale, good_steps, interval)
    return None if unscaled is None else [(grad / scale).float() for grad in grads], *state


@wrong(caught_by=scaler.unscales_in_float32)
def scaler_that_forgets_to_unscale(grads, scale, good_steps, interval):
    unscaled, *state = scaler_as_loop(grads, scale, good_steps, interval)
    return None if unscaled is None else [grad.float() for grad in grads], *state


@wrong(caught_by=scaler.skips_broken_steps)
def scaler_looking_at_the_first(grads, scale, good_steps, interval):
    if not torch.isfinite(grads[0]).all():
        return None, scale / 2, 0
    unscaled = [grad.float() / scale for grad in grads]
    grown = good_steps + 1 == interval
    return unscaled, scale * 2 if grown else scale, 0 if grown else good_steps + 1


@wrong(caught_by=scaler.skips_broken_steps)
def scaler_blind_to_nan(grads, scale, good_steps, interval):
    if any(grad.isinf().any() for grad in grads):
        return None, scale / 2, 0
    return scaler_as_loop([grad.nan_to_num() for grad in grads], scale, good_steps, interval)


@wrong(caught_by=scaler.keeps_finite_steps)
def scaler_looking_at_the_sum(grads, scale, good_steps, interval):
    if not torch.isfinite(sum(grad.abs().sum() for grad in grads)):
        return None, scale / 2, 0
    return scaler_as_loop(grads, scale, good_steps, interval)


@wrong(caught_by=scaler.halves_and_starts_anew)
def scaler_that_keeps_its_count(grads, scale, good_steps, interval):
    unscaled, scale, count = scaler_as_loop(grads, scale, good_steps, interval)
    return unscaled, scale, good_steps if unscaled is None else count


@wrong(caught_by=scaler.halves_and_starts_anew)
def scaler_that_never_halves(grads, scale, good_steps, interval):
    unscaled, new_scale, count = scaler_as_loop(grads, scale, good_steps, interval)
    return unscaled, scale if unscaled is None else new_scale, count


@wrong(caught_by=scaler.doubles_after_the_interval)
def scaler_one_step_late(grads, scale, good_steps, interval):
    return scaler_as_loop(grads, scale, good_steps, interval + 1)


@wrong(caught_by=scaler.doubles_after_the_interval)
def scaler_that_never_grows(grads, scale, good_steps, interval):
    return scaler_as_loop(grads, scale, good_steps, float("inf"))


@wrong(caught_by=scaler.halves_and_starts_anew)
def scaler_with_integers(grads, scale, good_steps, interval):
    if not all(grad.isfinite().all() for grad in grads):
        return None, scale // 2, 0
    return scaler_as_loop(grads, scale, good_steps, interval)


@wrong(caught_by=scaler.halves_and_starts_anew)
def scaler_with_a_floor(grads, scale, good_steps, interval):
    unscaled, scale, count = scaler_as_loop(grads, scale, good_steps, interval)
    return unscaled, max(scale, 1.0), count


@wrong(caught_by=scaler.doubles_after_the_interval)
def scaler_with_a_ceiling(grads, scale, good_steps, interval):
    unscaled, scale, count = scaler_as_loop(grads, scale, good_steps, interval)
    return unscaled, min(scale, 65536.0), count


@wrong(caught_by=scaler.unscales_in_float32)
def scaler_dividing_by_the_new_scale(grads, scale, good_steps, interval):
    unscaled, scale, count = scaler_as_loop(grads, scale, good_steps, interval)
    return None if unscaled is None else [grad.float() / scale for grad in grads], scale, count


@wrong(caught_by=scaler.skips_broken_steps)
def scaler_dropping_the_bad_ones(grads, scale, good_steps, interval):
    _, *state = scaler_as_loop(grads, scale, good_steps, interval)
    return [torch.nan_to_num(grad.float() / scale, 0.0, 0.0, 0.0) for grad in grads], *state


@wrong(caught_by=scaler.keeps_finite_steps)
def scaler_skipping_zeros(grads, scale, good_steps, interval):
    if not any(grad.any() for grad in grads):
        return None, scale, good_steps
    return scaler_as_loop(grads, scale, good_steps, interval)


def scaler_capped_at(lowest, highest):
    def scaler_with_bounds(grads, scale, good_steps, interval):
        unscaled, scale, count = scaler_as_loop(grads, scale, good_steps, interval)
        return unscaled, min(max(scale, lowest), highest), count

    return scaler_with_bounds


def scaler_blind_beyond(dims):
    def scaler_looking_at_some(grads, scale, good_steps, interval):
        if not all(grad.isfinite().all() for grad in grads if grad.dim() in dims):
            return None, scale / 2, 0
        unscaled = [grad.float() / scale for grad in grads]
        grown = good_steps + 1 == interval
        return unscaled, scale * 2 if grown else scale, 0 if grown else good_steps + 1

    return scaler_looking_at_some


@wrong(caught_by=scaler.keeps_finite_steps)
def scaler_skipping_the_empty(grads, scale, good_steps, interval):
    if not all(grad.numel() for grad in grads):
        return None, scale / 2, 0
    return scaler_as_loop(grads, scale, good_steps, interval)


@wrong(caught_by=scaler.keeps_finite_steps)
def scaler_skipping_the_large(grads, scale, good_steps, interval):
    if not all((grad.abs() < 60000).all() for grad in grads):
        return None, scale / 2, 0
    return scaler_as_loop(grads, scale, good_steps, interval)


@wrong(caught_by=scaler.gives_three_things)
def scaler_without_a_count(grads, scale, good_steps, interval):
    return scaler_as_loop(grads, scale, good_steps, interval)[:2]


@wrong(caught_by=scaler.gives_three_things)
def scaler_in_float64(grads, scale, good_steps, interval):
    unscaled, *state = scaler_as_loop(grads, scale, good_steps, interval)
    return None if unscaled is None else [grad.double() / scale for grad in grads], *state


@wrong(caught_by=scaler.gives_three_things)
def scaler_flattening(grads, scale, good_steps, interval):
    unscaled, *state = scaler_as_loop(grads, scale, good_steps, interval)
    return None if unscaled is None else [torch.cat([g.reshape(-1) for g in unscaled])], *state


@wrong(caught_by=checking.leaves_its_inputs_alone)
def scaler_in_place(grads, scale, good_steps, interval):
    unscaled, *state = scaler_as_loop(grads, scale, good_steps, interval)
    for grad in grads:
        grad.div_(scale)
    return unscaled, *state


@wrong(caught_by=checking.leaves_its_inputs_alone)
def scaler_popping(grads, scale, good_steps, interval):
    unscaled = []
    while grads:
        grad = grads.pop(0)
        if not grad.isfinite().all():
            return None, scale / 2, 0
        unscaled.append(grad.float() / scale)
    grown = good_steps + 1 >= interval
    return unscaled, scale * 2 if grown else scale, 0 if grown else good_steps + 1


@right
def scaler_that_halves_alone(grads, scale, good_steps, interval):
    if any(grad.float().sum().isnan() or grad.isinf().any() for grad in grads):
        return None, scale * 0.5, 0
    return tuple(grad.float().mul(1 / scale) for grad in grads), *_grown(
        scale, good_steps, interval
    )


def _grown(scale, good_steps, interval):
    good_steps = good_steps + 1
    return [scale, good_steps] if good_steps < interval else [2.0 * scale, 0]


@right
def scaler_with_tensors(grads, scale, good_steps, interval):
    scale = torch.as_tensor(float(scale), dtype=torch.float64)
    if not torch.cat([grad.reshape(-1) for grad in grads]).isfinite().all():
        return [None, scale / 2, 0]
    unscaled = [grad.to(torch.float32).div(scale.item()) for grad in grads]
    grown = (good_steps + 1) % interval == 0
    return [unscaled, scale * (1 + grown), (good_steps + 1) * (1 - grown)]


right(step_by_torch)
wrong(scaler_blind_beyond((1, 2)), caught_by=scaler.skips_broken_steps)
wrong(scaler_blind_beyond((1, 2, 3)), caught_by=scaler.skips_broken_steps)
wrong(scaler_capped_at(2.0**-4, INF), caught_by=scaler.halves_and_starts_anew)
wrong(scaler_capped_at(2.0**-24, INF), caught_by=scaler.halves_and_starts_anew)
wrong(scaler_capped_at(0.0, 2.0**24), caught_by=scaler.doubles_after_the_interval)
wrong(scaler_capped_at(0.0, 2.0**100), caught_by=scaler.doubles_after_the_interval)
