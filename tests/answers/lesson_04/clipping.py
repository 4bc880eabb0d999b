"""Right and wrong answers of exercise 04.5."""

import torch

from course_utils.exercises.lesson_04 import clipping
from course_utils.exercises.lesson_04.clipping import _norm, clip_by_factor, clip_by_torch
from tests.answers import answers_of

right, wrong = answers_of(clipping.CLIP)


@right
def clip_unless_below(grads, max_norm):
    norm = torch.sqrt(sum((grad.double() ** 2).sum() for grad in grads)).item()
    factor = 1.0 if norm <= max_norm else max_norm / norm
    return [grad * factor for grad in grads]


@right
def clip_with_minimum(grads, max_norm):
    norm = torch.linalg.vector_norm(torch.stack([grad.norm() for grad in grads]))
    factor = torch.minimum(max_norm / (norm + 1e-6), torch.ones_like(norm))
    return tuple(factor * grad for grad in grads)


@wrong(caught_by=clipping.spreads_a_nan)
def clip_with_if(grads, max_norm):
    norm = _norm(grads)
    return [grad * (max_norm / norm if norm > max_norm else 1.0) for grad in grads]


@wrong(caught_by=clipping.gives_as_many_gradients)
def clip_the_given_ones_unless_large(grads, max_norm):
    return list(grads) if _norm(grads) <= max_norm else clip_by_factor(grads, max_norm)


@wrong(caught_by=clipping.scales_all_together)
def clip_in_their_own_format(grads, max_norm):
    norm = torch.sqrt(sum((grad**2).sum() for grad in grads))
    return [grad * (max_norm / (norm + 1e-6)).clamp(max=1.0) for grad in grads]


@wrong(caught_by=clipping.scales_all_together)
def clip_in_a_loop(grads, max_norm):
    total = torch.zeros((), dtype=grads[0].dtype)
    for grad in grads:
        total = total + torch.sum(grad * grad)
    return [grad * (max_norm / (total.sqrt() + 1e-6)).clamp(max=1.0) for grad in grads]


@wrong(caught_by=clipping.turns_an_inf)
def clip_inf_before_nan(grads, max_norm):
    if any(grad.isinf().any() for grad in grads):
        return [torch.where(grad.isinf(), float("nan"), 0.0 * grad.nan_to_num()) for grad in grads]
    return clip_by_factor(grads, max_norm)


@wrong(caught_by=clipping.spreads_a_nan)
def clip_with_python_min(grads, max_norm):
    factor = min(1.0, (max_norm / (_norm(grads) + 1e-6)).item())
    return [grad * factor for grad in grads]


@wrong(caught_by=clipping.spreads_a_nan)
def clip_without_nan(grads, max_norm):
    return clip_by_factor([grad.nan_to_num(0.0) for grad in grads], max_norm)


@wrong(caught_by=clipping.scales_all_together)
def clip_each_alone(grads, max_norm):
    return [clip_by_factor([grad], max_norm)[0] for grad in grads]


@wrong(caught_by=clipping.leaves_small_ones)
def clip_always(grads, max_norm):
    return [grad * (max_norm / (_norm(grads) + 1e-6)) for grad in grads]


@wrong(caught_by=clipping.leaves_small_ones)
def clip_by_the_sum(grads, max_norm):
    total = sum(grad.abs().sum() for grad in grads)
    return [grad * (max_norm / (total + 1e-6)).clamp(max=1.0) for grad in grads]


@wrong(caught_by=clipping.scales_all_together)
def clip_by_the_square(grads, max_norm):
    return [grad * (max_norm / (_norm(grads) ** 2 + 1e-6)).clamp(max=1.0) for grad in grads]


@wrong(caught_by=clipping.leaves_small_ones)
def clip_by_the_sum_of_norms(grads, max_norm):
    total = sum(grad.norm() for grad in grads)
    return [grad * (max_norm / (total + 1e-6)).clamp(max=1.0) for grad in grads]


@wrong(caught_by=clipping.scales_all_together)
def clip_by_the_largest(grads, max_norm):
    largest = max(float(grad.abs().max()) for grad in grads)
    return [grad * min(max_norm / (largest + 1e-6), 1.0) for grad in grads]


@wrong(caught_by=clipping.scales_all_together)
def clip_elementwise(grads, max_norm):
    return [grad.clamp(-max_norm, max_norm) for grad in grads]


@wrong(caught_by=clipping.leaves_small_ones)
def clip_to_one(grads, max_norm):
    return clip_by_factor(grads, 1.0)


@wrong(caught_by=clipping.turns_an_inf)
def clip_unless_infinite(grads, max_norm):
    return list(grads) if _norm(grads).isinf() else clip_by_factor(grads, max_norm)


@wrong(caught_by=clipping.gives_as_many_gradients)
def clip_to_float32(grads, max_norm):
    return [grad.float() for grad in clip_by_factor(grads, max_norm)]


@wrong(caught_by=clipping.gives_as_many_gradients)
def clip_to_one_tensor(grads, max_norm):
    return torch.cat([grad.flatten() for grad in clip_by_factor(grads, max_norm)])


@wrong(caught_by=clipping.gives_as_many_gradients)
def clip_the_first(grads, max_norm):
    return clip_by_factor(grads, max_norm)[:1]


right(clip_by_torch)
