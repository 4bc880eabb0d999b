"""Right and wrong answers of exercise 01.2."""

import torch

from course_utils.checks import checking
from course_utils.exercises.lesson_01 import masked
from course_utils.exercises.lesson_01.masked import masked_before_log
from tests.answers import answers_of

right, wrong = answers_of(masked.MASKED)


@right
def masked_by_selection(p, mask):
    return p[mask].log().sum() / max(int(mask.sum()), 1)


@wrong(caught_by=masked.value_survives)
def masked_by_product(p, mask):
    return (p.log() * mask).sum() / mask.sum().clamp(min=1)


@wrong(caught_by=masked.gradient_survives)
def masked_after_log(p, mask):
    return torch.where(mask, p.log(), 0.0).sum() / mask.sum().clamp(min=1)


@wrong(caught_by=masked.nothing_inside_is_repaired)
def masked_by_nan_to_num(p, mask):
    return (p.log().nan_to_num() * mask).sum() / mask.sum().clamp(min=1)


@wrong(caught_by=masked.healthy_mean)
def masked_with_clamp(p, mask):
    return (p.clamp(min=1e-6).log() * mask).sum() / mask.sum().clamp(min=1)


@wrong(caught_by=masked.healthy_mean)
def masked_over_all_tokens(p, mask):
    return torch.where(mask, p, 1.0).log().mean()


@wrong(caught_by=masked.empty_mask_gives_zero)
def masked_without_guard(p, mask):
    return torch.where(mask, p, 1.0).log().sum() / mask.sum()


@wrong(caught_by=masked.gradient_survives)
def masked_and_detached(p, mask):
    return masked_before_log(p.detach(), mask)


@wrong(caught_by=masked.empty_mask_gives_zero)
def masked_with_a_plain_zero(p, mask):
    return masked_before_log(p, mask) if mask.any() else 0.0


@right
def masked_in_a_loop(p, mask):
    logs = [
        value.log() for value, keep in zip(p.reshape(-1), mask.reshape(-1), strict=True) if keep
    ]
    return torch.stack(logs).mean() if logs else (p * 0).nan_to_num().sum() * 0


@right
def masked_in_float32(p, mask):
    chosen = torch.masked_select(p, mask).float()
    return chosen.log().sum() / max(chosen.numel(), 1)


@right
def masked_with_ones(p, mask):
    weights = mask / mask.sum().clamp(min=1)
    return (weights * p.masked_fill(mask.logical_not(), 1).log()).sum()


@wrong(caught_by=masked.nothing_inside_is_repaired)
def masked_hiding_nan(p, mask):
    return torch.nan_to_num(p[mask].log().mean())


@wrong(caught_by=masked.nothing_inside_is_repaired)
def masked_hiding_inf(p, mask):
    mean = p[mask].log().sum() / mask.sum().clamp(min=1)
    return mean.nan_to_num(nan=float("nan"), neginf=-100.0)


@wrong(caught_by=masked.healthy_mean)
def masked_with_a_clamp_inside(p, mask):
    return torch.where(mask, p.clamp(min=1e-6), 1.0).log().sum() / mask.sum().clamp(min=1)


@wrong(caught_by=masked.healthy_mean)
def masked_with_eps(p, mask):
    return torch.where(mask, p + 1e-8, 1.0).log().sum() / mask.sum().clamp(min=1)


@wrong(caught_by=masked.healthy_mean)
def masked_by_rows(p, mask):
    logs, counts = torch.where(mask, p, 1.0).log().sum(-1), mask.sum(-1)
    return (logs / counts.clamp(min=1)).mean()


@wrong(caught_by=masked.healthy_mean)
def masked_without_a_mean(p, mask):
    return torch.where(mask, p, 1.0).log().sum()


@wrong(caught_by=masked.healthy_mean)
def masked_with_log10(p, mask):
    return torch.where(mask, p, 1.0).log10().sum() / mask.sum().clamp(min=1)


@wrong(caught_by=masked.one_number)
def masked_per_row(p, mask):
    return torch.where(mask, p, 1.0).log().sum(-1) / mask.sum(-1).clamp(min=1)


@wrong(caught_by=masked.one_number)
def masked_keeping_dims(p, mask):
    return masked_before_log(p, mask).reshape(1, 1)


@wrong(caught_by=masked.one_number)
def masked_as_a_float(p, mask):
    return masked_before_log(p, mask).item()


@wrong(caught_by=checking.leaves_its_inputs_alone)
def masked_in_place(p, mask):
    p.data[~mask] = 1.0
    return p.log().sum() / mask.sum().clamp(min=1)


@wrong(caught_by=masked.gradient_survives)
def masked_with_half_a_gradient(p, mask):
    logs = torch.where(mask, p, 1.0).log()
    return (0.5 * logs + 0.5 * logs.detach()).sum() / mask.sum().clamp(min=1)


@wrong(caught_by=checking.leaves_its_inputs_alone)
def masked_with_a_hook(p, mask):
    if p.requires_grad:
        p.register_hook(torch.nan_to_num)
    return torch.where(mask, p.log(), 0.0).sum() / mask.sum().clamp(min=1)


class LogForgettingItsGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, safe):
        ctx.save_for_backward(safe)
        return safe.log().sum()

    @staticmethod
    def backward(ctx, gradient):
        return 1 / ctx.saved_tensors[0]


@wrong(caught_by=masked.gradient_survives)
def masked_by_its_own_backward(p, mask):
    safe = torch.where(mask, p, 1.0)
    return LogForgettingItsGradient.apply(safe) / mask.sum().clamp(min=1)


@wrong(caught_by=masked.healthy_mean)
def masked_over_two_axes_at_most(p, mask):
    p, mask = (part.flatten(2)[..., 0] if part.dim() > 3 else part for part in (p, mask))
    return masked_before_log(p, mask)


@wrong(caught_by=masked.empty_mask_gives_zero)
def masked_adding_nothing_to_nothing(p, mask):
    return masked_before_log(p, mask) if p.numel() else p.sum() / 0


@wrong(caught_by=masked.empty_mask_gives_zero)
def masked_ending_in_a_constant(p, mask):
    return masked_before_log(p, mask) if mask.any() else torch.zeros(())
