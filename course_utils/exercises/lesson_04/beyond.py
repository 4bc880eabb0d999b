"""Exercise 04.2: which positions passed the limit of exp, tokens or padding."""

from collections.abc import Callable

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.numerics import float_format

FORMATS = (torch.float16, torch.bfloat16, torch.float32)


def _case(dtype: torch.dtype, seed: int) -> tuple[torch.Tensor, torch.Tensor, tuple[int, int]]:
    """Log-ratios at least 2 percent away from the limit, a mask, and the right counts."""
    generator = torch.Generator().manual_seed(seed)
    limit = float_format(dtype).max_exp_input
    share = torch.tensor([-3.0, -1.05, -0.5, 0.0, 0.3, 0.9, 0.98, 1.02, 1.1, 2.0])
    picked = share[torch.randint(len(share), (6, 9), generator=generator)]
    mask = torch.randint(2, (6, 9), generator=generator)
    over = picked > 1
    counts = int((over & (mask == 1)).sum()), int((over & (mask == 0)).sum())
    return (picked * limit).to(dtype), mask, counts


def _compare(beyond, dtype: torch.dtype, which: tuple[int, ...]) -> str | None:
    name = str(dtype).removeprefix("torch.")
    for seed in range(5):
        log_ratio, mask, want = _case(dtype, seed)
        got = beyond(log_ratio, mask)
        if not isinstance(got, (tuple, list)) or len(got) != 2:
            return f"it gives {got!r}, where two counts are asked"
        for i in which:
            if int(got[i]) != want[i]:
                where = ("tokens", "padding")[i]
                return f"in {name} it counts {int(got[i])} at {where}, exp is inf at {want[i]}"
    return None


def counts_tokens(beyond) -> str | None:
    return _compare(beyond, torch.float16, (0,))


def counts_padding(beyond) -> str | None:
    return _compare(beyond, torch.float16, (1,))


def asks_the_format(beyond) -> str | None:
    return _compare(beyond, torch.float32, (0, 1)) or _compare(beyond, torch.bfloat16, (0, 1))


def beyond_by_exp(log_ratio, mask):
    is_over = log_ratio.exp().isinf()
    return int((is_over & (mask == 1)).sum()), int((is_over & (mask == 0)).sum())


def beyond_by_limit(log_ratio, mask):
    is_over = log_ratio.double() > torch.tensor(torch.finfo(log_ratio.dtype).max).double().log()
    return is_over[mask.bool()].sum(), is_over[~mask.bool()].sum()


def beyond_in_float16(log_ratio, mask):
    return beyond_by_exp(log_ratio.half(), mask)


def beyond_in_float32(log_ratio, mask):
    return beyond_by_exp(log_ratio.float(), mask)


def beyond_both_ways(log_ratio, mask):
    return beyond_by_exp(log_ratio.abs(), mask)


def beyond_swapped(log_ratio, mask):
    return beyond_by_exp(log_ratio, 1 - mask)


def beyond_tokens_only(log_ratio, mask):
    return beyond_by_exp(log_ratio * mask, mask)


BEYOND = Exercise(
    id="04.2",
    name="BEYOND",
    title="Who passed the limit?",
    minutes=5,
    difficulty="a few lines",
    points=3,
    reads="beyond",
    expects=(Callable,),
    hints=(
        "From which number on is exp(x) larger than the largest number of the format?",
        "Let the format answer: what is log_ratio.exp() there, in log_ratio's own dtype?",
        "Where log_ratio.exp().isinf(), count once with mask == 1 and once with mask == 0.",
    ),
    criteria=(
        Criterion(
            "It counts the tokens (mask 1) at which exp is inf.",
            counts_tokens,
            why="these would be the policy's own tokens, the ones that are trained",
            next="only a large positive log-ratio makes exp inf, and only in this format",
        ),
        Criterion(
            "It counts the padding (mask 0) at which exp is inf.",
            counts_padding,
            why="the formula is applied to the whole rectangle, padding included",
            next="do not multiply by the mask before you look",
        ),
        Criterion(
            "It finds the limit of whatever format the log-ratio has.",
            asks_the_format,
            why="the limit is 11.09 in float16, and 88.7 in float32 and bfloat16",
            next="compute exp in the dtype that came in",
        ),
    ),
    right=(beyond_by_exp, beyond_by_limit),
    wrong=(
        Wrong(beyond_in_float32, caught_by=counts_tokens),
        Wrong(beyond_both_ways, caught_by=counts_tokens),
        Wrong(beyond_swapped, caught_by=counts_tokens),
        Wrong(beyond_tokens_only, caught_by=counts_padding),
        Wrong(beyond_in_float16, caught_by=asks_the_format),
    ),
)
