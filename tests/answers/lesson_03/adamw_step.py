"""Right and wrong answers of exercise 03.3."""

import torch

from course_utils.checks import checking
from course_utils.exercises.lesson_03 import adamw_step
from course_utils.exercises.lesson_03.adamw_step import (
    BETA1,
    BETA2,
    GRADIENTS,
    step_by_operations,
    step_by_torch,
)
from tests.answers import answers_of

right, wrong = answers_of(adamw_step.STEP)


@right
def step_with_square_first(grad, eps):
    m, v = 0.1 * grad, 0.001 * grad**2
    return (m / 0.1) / ((v / 0.001).sqrt() + eps)


@right
def step_with_roots_apart(grad, eps):
    # as the source of torch's _single_tensor_adam groups it
    m, v = grad.mul(1 - BETA1), grad.square().mul(1 - BETA2)
    return m / (v.sqrt() / (1 - BETA2) ** 0.5 + eps) / (1 - BETA1)


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_without_bias_correction(grad, eps):
    return (1 - BETA1) * grad / (((1 - BETA2) * grad * grad).sqrt() + eps)


@wrong(caught_by=adamw_step.step_in_float16)
def step_in_float32_then_cast(grad, eps):
    return step_by_operations(grad.float(), eps).to(grad.dtype)


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_in_float32(grad, eps):
    return step_by_operations(grad.float(), eps)


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_as_sign(grad, eps):
    return grad.sign()


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_downhill(grad, eps):
    return -step_by_operations(grad, eps)


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_times_lr(grad, eps):
    return 1e-5 * step_by_operations(grad, eps)


@wrong(caught_by=adamw_step.step_with_larger_eps)
def step_with_fixed_eps(grad, eps):
    return step_by_operations(grad, 1e-8)


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_with_eps_in_the_root(grad, eps):
    v = (1 - BETA2) * grad * grad
    return grad / (v / (1 - BETA2) + eps * eps).sqrt()


@wrong(caught_by=adamw_step.step_in_float16)
def step_with_clamped_denominator(grad, eps):
    v = ((1 - BETA2) * grad * grad / (1 - BETA2)).sqrt() + eps
    return grad / v.clamp(min=torch.finfo(grad.dtype).tiny)


@wrong(caught_by=adamw_step.step_in_float16)
def step_without_nan(grad, eps):
    return step_by_operations(grad, eps).nan_to_num()


@wrong(caught_by=adamw_step.step_of_broken_gradients)
def step_where_a_number(grad, eps):
    step = step_by_operations(grad, eps)
    return torch.where(grad.isnan(), torch.zeros_like(step), step)


@wrong(caught_by=adamw_step.step_of_broken_gradients)
def step_where_finite(grad, eps):
    return torch.where(grad.isinf(), grad.sign(), step_by_operations(grad, eps))


@wrong(caught_by=adamw_step.step_in_float16)
def step_without_v(grad, eps):
    # mathematically the same: the two factors of 0.001 cancel
    return grad / (grad.abs() + eps)


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_of_the_largest(grad, eps):
    return step_by_operations(grad, eps) if grad.dim() == 1 else step_by_operations(grad.max(), eps)


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_by_looking_up(grad, eps):
    known = torch.tensor(GRADIENTS, dtype=grad.dtype)
    return step_by_torch(grad, eps) if torch.equal(grad, known) else torch.zeros_like(grad)


@wrong(caught_by=adamw_step.is_a_tensor)
def step_as_list(grad, eps):
    return step_by_operations(grad, eps).tolist()


@wrong(caught_by=adamw_step.is_a_tensor)
def step_and_state(grad, eps):
    return step_by_operations(grad, eps), 0.1 * grad


@wrong(caught_by=checking.leaves_its_inputs_alone)
def step_in_place(grad, eps):
    step = step_by_operations(grad, eps)
    grad.mul_(0.1)
    return step


right(step_by_torch)


@wrong(caught_by=adamw_step.step_in_wide_formats)
def step_without_its_sign(grad, eps):
    return step_by_operations(grad, eps).abs()


@wrong(caught_by=adamw_step.step_in_float16)
def step_with_eps_in_float32(grad, eps):
    v = (1 - BETA2) * grad * grad
    return (grad.float() / ((v / (1 - BETA2)).sqrt().float() + eps)).to(grad.dtype)


@wrong(caught_by=adamw_step.step_in_float16)
def step_by_the_fused_kernel(grad, eps):
    weight = torch.nn.Parameter(torch.zeros_like(grad))
    weight.grad = grad.clone()
    torch.optim.AdamW([weight], lr=1.0, eps=eps, weight_decay=0.0, fused=True).step()
    return -weight.detach()
