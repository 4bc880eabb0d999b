"""Exercise 01.2: a masked mean of log p that garbage outside the mask cannot reach."""

from collections.abc import Callable

import torch

from course_utils.exercises.compare import number_differs, tensor_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

NAN, INF = float("nan"), float("inf")
GARBAGE = (0.0, NAN, INF, -1.0)


def _cases(garbage: float | None):
    """Probabilities (B, T) in (0, 1], a mask of which at least one is True, seeded."""
    generator = torch.Generator().manual_seed(0)
    for batch, length in ((1, 4), (3, 5), (8, 32)):
        p = torch.rand(batch, length, generator=generator).clamp(min=1e-4)
        mask = torch.rand(batch, length, generator=generator) < 0.6
        mask[0, 0] = True
        yield (p if garbage is None else p.masked_fill(~mask, garbage)), mask


def _value_differs(masked_mean_log, garbage: float | None) -> str | None:
    for p, mask in _cases(garbage):
        filled = "" if garbage is None else f", {garbage:g} outside the mask"
        given = f"{int(mask.sum())} of {mask.numel()} tokens in the mask{filled}"
        want = p.double()[mask].log().mean().item()
        seen = number_differs(masked_mean_log(p.clone(), mask), want, rtol=1e-4, given=given)
        if seen:
            return seen
    return None


def _gradient(masked_mean_log, p, mask) -> torch.Tensor | None:
    p = p.clone().requires_grad_()
    value = masked_mean_log(p, mask)
    if not (isinstance(value, torch.Tensor) and value.requires_grad):
        return None
    value.backward()
    return p.grad


def healthy_mean(masked_mean_log) -> str | None:
    return _value_differs(masked_mean_log, None)


def value_survives(masked_mean_log) -> str | None:
    return next(filter(None, (_value_differs(masked_mean_log, g) for g in GARBAGE)), None)


def gradient_survives(masked_mean_log) -> str | None:
    for garbage in (0.5, *GARBAGE):
        for p, mask in _cases(garbage):
            got = _gradient(masked_mean_log, p, mask)
            if got is None:
                return "no gradient reaches p"
            inside = 1 / (mask.sum() * p)
            want = torch.where(mask, inside, torch.zeros_like(p))
            given = f"the gradient with {garbage:g} outside the mask"
            if seen := tensor_differs(got, want, rtol=1e-4, given=given):
                return seen
    return None


def empty_mask_gives_zero(masked_mean_log) -> str | None:
    p, mask = torch.tensor([[0.5, 0.0, NAN]]), torch.zeros(1, 3, dtype=torch.bool)
    if seen := number_differs(masked_mean_log(p, mask), 0.0, rtol=0, given="an empty mask"):
        return seen
    gradient = _gradient(masked_mean_log, p, mask)
    if gradient is None:
        return "with an empty mask the result has no graph, so its .backward() raises"
    return f"with an empty mask the gradient is {gradient.tolist()}" if gradient.any() else None


def masked_before_log(p, mask):
    return torch.where(mask, p, 1.0).log().sum() / mask.sum().clamp(min=1)


def masked_by_selection(p, mask):
    return p[mask].log().sum() / max(int(mask.sum()), 1)


def masked_by_product(p, mask):
    return (p.log() * mask).sum() / mask.sum().clamp(min=1)


def masked_after_log(p, mask):
    return torch.where(mask, p.log(), 0.0).sum() / mask.sum().clamp(min=1)


def masked_by_nan_to_num(p, mask):
    return (p.log().nan_to_num() * mask).sum() / mask.sum().clamp(min=1)


def masked_with_clamp(p, mask):
    return (p.clamp(min=1e-6).log() * mask).sum() / mask.sum().clamp(min=1)


def masked_over_all_tokens(p, mask):
    return torch.where(mask, p, 1.0).log().mean()


def masked_without_guard(p, mask):
    return torch.where(mask, p, 1.0).log().sum() / mask.sum()


def masked_and_detached(p, mask):
    return masked_before_log(p.detach(), mask)


def masked_with_a_plain_zero(p, mask):
    return masked_before_log(p, mask) if mask.any() else 0.0


MASKED = Exercise(
    id="01.2",
    name="MASKED",
    title="A mean that ignores what is masked",
    minutes=6,
    difficulty="one or two lines",
    points=4,
    reads="masked_mean_log",
    expects=(Callable,),
    hints=(
        "What is the derivative of log at 0, and what is 0 times that?",
        "The backward pass visits both branches of where: the masked one gets a gradient of 0, "
        "and 0 times inf is nan.",
        "Make the input harmless before log: torch.where(mask, p, 1.0).log(). Then divide by the "
        "number of tokens, at least 1.",
    ),
    criteria=(
        Criterion(
            "With healthy numbers it is the mean of log p over the mask.",
            healthy_mean,
            why="the divisor is the number of tokens in the mask, not of all tokens",
            next="try p = 1 everywhere but for one token",
        ),
        Criterion(
            "Its value does not depend on what stands outside the mask.",
            value_survives,
            why="nan times 0 is nan, so a product is no mask",
            next="choose instead of multiplying",
        ),
        Criterion(
            "Its gradient is 1 / (n p) inside the mask and 0 outside, never nan.",
            gradient_survives,
            why="a nan gradient in padding reaches every weight that made the padding",
            next="call .backward() with p = 0 outside the mask, and print p.grad",
        ),
        Criterion(
            "With an empty mask it is 0, and so is its gradient.",
            empty_mask_gives_zero,
            why="a reply that was cut away whole gives 0 / 0, and one nan spoils the batch",
            next="what should the divisor be when there is nothing to count? And is the 0 computed "
            "from p?",
        ),
    ),
    right=(masked_before_log, masked_by_selection),
    wrong=(
        Wrong(masked_by_product, caught_by=value_survives),
        Wrong(masked_with_clamp, caught_by=value_survives),
        Wrong(masked_after_log, caught_by=gradient_survives),
        Wrong(masked_by_nan_to_num, caught_by=gradient_survives),
        Wrong(masked_and_detached, caught_by=gradient_survives),
        Wrong(masked_over_all_tokens, caught_by=healthy_mean),
        Wrong(masked_without_guard, caught_by=empty_mask_gives_zero),
        Wrong(masked_with_a_plain_zero, caught_by=empty_mask_gives_zero),
    ),
)
