"""Exercise 04.2: which positions passed the limit of exp, tokens or padding."""

import math
from collections.abc import Callable
from numbers import Real

import torch

from course_utils.checks.declare import Criterion, Exercise

FORMATS = (torch.float16, torch.bfloat16, torch.float32)
SHAPES = ((6, 9), (1, 7), (4, 1), (64, 16))
MASK_DTYPES = (torch.int64, torch.bool, torch.float32, torch.int32)
SHARES = (-3.0, -1.05, -0.5, 0.0, 0.3, 0.9, 0.98, 1.02, 1.1, 2.0)
CLOSE = (0.992, 0.9999, 1.0001)  # 88.01, 88.714, 88.732: 16 bits could not tell them apart


def gives_two_counts(beyond) -> str | None:
    got = beyond(torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.int64))
    if isinstance(got, torch.Tensor) and got.shape == (2,):
        return None
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        return f"two counts are asked for, and it gives {got!r}"
    for count in got:
        if isinstance(count, torch.Tensor) and count.numel() != 1:
            return f"two counts are asked for, and one has shape {tuple(count.shape)}"
        if not isinstance(count, (Real, torch.Tensor)):
            return f"two counts are asked for, and one is {count!r}"
    return None


def _case(dtype: torch.dtype, number: int) -> tuple:
    """Log-ratios around the limit of the format, a mask of lengths, and the right counts."""
    generator = torch.Generator().manual_seed(number)
    limit = math.log(torch.finfo(dtype).max)
    shape = SHAPES[number % len(SHAPES)]
    close = CLOSE if dtype == torch.float32 else ()
    shares = torch.tensor(SHARES + close, dtype=torch.float64)
    picked = shares[torch.randint(len(shares), shape, generator=generator)]
    log_ratio = (picked * limit).to(dtype)
    length = torch.randint(shape[1] + 1, (shape[0], 1), generator=generator)
    mask = (torch.arange(shape[1]) < length).long()
    over = log_ratio.double() > limit
    counts = int((over & (mask == 1)).sum()), int((over & (mask == 0)).sum())
    return log_ratio, mask.to(MASK_DTYPES[number % len(MASK_DTYPES)]), counts


def _miscounts(beyond, dtypes, which: tuple[int, ...]) -> str | None:
    for dtype in dtypes:
        name = str(dtype).removeprefix("torch.")
        for number in range(8):
            log_ratio, mask, want = _case(dtype, number)
            got = [float(count) for count in beyond(log_ratio, mask)]
            for i in which:
                if got[i] != want[i]:
                    where = ("tokens", "padding")[i]
                    shape = tuple(mask.shape)
                    return (
                        f"in {name}, shape {shape}, mask {str(mask.dtype).removeprefix('torch.')}: "
                        f"it counts {got[i]:g} at {where}, exp is inf at {want[i]}"
                    )
    return None


def counts_tokens(beyond) -> str | None:
    return _miscounts(beyond, (torch.float16,), (0,))


def counts_padding(beyond) -> str | None:
    return _miscounts(beyond, (torch.float16,), (1,))


def asks_the_format(beyond) -> str | None:
    return _miscounts(beyond, FORMATS, (0, 1))


def counts_inf_alone(beyond) -> str | None:
    for value, count in ((float("nan"), 0), (-math.inf, 0), (math.inf, 1)):
        log_ratio = torch.tensor([[value, 0.5], [1.0, value]])
        got = [float(one) for one in beyond(log_ratio, torch.tensor([[1, 1], [1, 0]]))]
        if got != [count, count]:
            seen = f"{got[0]:g} at tokens and {got[1]:g} at padding; {count} and {count} are right"
            return f"for one log-ratio of {value} at each it counts {seen}"
    return None


def beyond_by_exp(log_ratio, mask):
    is_over = log_ratio.exp().isinf()
    return int((is_over & (mask == 1)).sum()), int((is_over & (mask == 0)).sum())


BEYOND = Exercise(
    id="04.2",
    name="BEYOND",
    title="Who passed the limit?",
    minutes=5,
    difficulty="a few lines",
    points=3,
    reads="beyond",
    expects=(Callable,),
    form=gives_two_counts,
    hints=(
        "From which number on is exp(x) larger than the largest number of the format?",
        "Let the format answer: what is log_ratio.exp() there, in log_ratio's own dtype?",
        "One tensor says where exp is inf, another where the mask is 1. Both must hold, or the "
        "first and not the second.",
    ),
    criteria=(
        Criterion(
            "It counts the tokens (mask 1) at which exp is inf.",
            counts_tokens,
            why="these would be the policy's own tokens, the ones that are trained",
            next="count where exp(log_ratio) is inf and the mask is 1, in log_ratio's own format",
        ),
        Criterion(
            "It counts the padding (mask 0) at which exp is inf.",
            counts_padding,
            why="the formula is applied to the whole rectangle, padding included",
            next="count where exp(log_ratio) is inf and the mask is 0",
        ),
        Criterion(
            "It finds the limit of whatever format the log-ratio has.",
            asks_the_format,
            why="every format has its own: the logarithm of its largest number, to the last digit",
            next="compute exp in the dtype that came in",
        ),
        Criterion(
            "A log-ratio of nan is not counted, one of inf is.",
            counts_inf_alone,
            why="exp of nan is nan, which is no overflow; exp of inf is inf, which is one",
            next="ask of exp(log_ratio) whether it is inf, not whether it is finite",
        ),
    ),
    answer=beyond_by_exp,
)
