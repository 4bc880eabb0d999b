"""Exercise 10.5: advantages that are exactly 0 where nothing but rounding differs."""

import warnings
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise

EPS = 1e-4  # trl 1.16 adds it to a group's standard deviation
CONSTANTS = (0.35, 0.1, 0.7, 0.9, 3.3, -0.35, 1 / 3, 7.7, 0.0, 1.0, 12.3, 100.1, -100.1)
SIZES = (8, 4, 2, 16, 7)


def scaled(rewards_GN: Tensor) -> Tensor:
    """What GRPO computes, in float64: G groups of N replies."""
    rewards = rewards_GN.double()
    centred = rewards - rewards.mean(-1, keepdim=True)
    return (centred / (rewards.std(-1, keepdim=True) + EPS)).to(rewards_GN.dtype)


def _rows(*rows: list[float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float32)


def _random(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator) * 3 - 1


def gives_a_tensor(advantages: Callable) -> str | None:
    got = advantages(_random(0, 4, 8))
    if not isinstance(got, Tensor):
        return f"it returns a {type(got).__name__}; a tensor is needed"
    if got.shape != (4, 8) or got.dtype != torch.float32:
        kind = f"{got.dtype} of shape {tuple(got.shape)}"
        return (
            f"for float32 rewards of shape (4, 8) it returns {kind}; float32 and (4, 8) are needed"
        )
    return None


def _differs(advantages: Callable, rewards: Tensor, given: str) -> str | None:
    return tensor_differs(advantages(rewards), scaled(rewards), rtol=0.02, atol=1e-4, given=given)


def scales_as_grpo(advantages) -> str | None:
    for seed, shape in enumerate(((4, 8), (1, 4), (3, 16), (2, 2))):
        seen = _differs(advantages, _random(seed, *shape), f"rewards of shape {shape}")
        if seen:
            return seen
    ones = _rows([1.0] + [0.0] * 7, [1.0] * 7 + [0.0], [0.3] * 7 + [1.0])
    seen = _differs(advantages, ones, "one reply against seven")
    close = _rows([0.5] * 4 + [0.52] * 4)  # a std of 0.011, so that 1e-4 counts
    seen = seen or tensor_differs(
        advantages(close), scaled(close), rtol=0.005, given="four rewards of 0.5 and four of 0.52"
    )
    return seen or _differs(advantages, _all_mixed(8), "every group of eight that mixes 0 and 1")


def _all_mixed(size: int) -> Tensor:
    """Every group of zeros and ones that holds both: no few replies tell whether it is alive."""
    return torch.tensor(list(product((0.0, 1.0), repeat=size))[1:-1])


def is_zero_on_constants(advantages) -> str | None:
    return _is_zero(advantages, SIZES)


def is_zero_for_one_reply(advantages) -> str | None:
    return _is_zero(advantages, (1,))


def _is_zero(advantages: Callable, sizes: tuple[int, ...]) -> str | None:
    for constant, size, groups in product(CONSTANTS, sizes, (2, 1)):
        with warnings.catch_warnings():  # torch's, of the std of one reply
            warnings.filterwarnings("ignore", message=".*degrees of freedom")
            largest = advantages(torch.full((groups, size), constant)).abs().max().item()
        if largest != 0:
            each = f"{groups} group(s) of {size} rewards of {constant:.3g}"
            return f"{each} have advantages of {largest:.2g}, not 0"
    return None


def keeps_small_gaps(advantages) -> str | None:
    large = _rows([0.5] * 7 + [0.51], [0.35] * 4 + [0.34] * 4, [2.0, 2.01] * 4)
    small = torch.cat([large, _rows([0.5] * 7 + [0.501], [3.0] * 7 + [3.001])])
    seen = _differs(advantages, small, "true gaps of 0.01 and 0.001")
    far = _rows([100.0] * 7 + [100.001])  # a mean in float32 is off by 1 % of this gap
    given = "a true gap of 0.001 above 100"
    return seen or tensor_differs(advantages(far), scaled(far), rtol=0.2, given=given)


def looks_at_each_group(advantages) -> str | None:
    mixed = torch.cat([torch.full((1, 8), 0.35), _random(5, 1, 8), torch.full((1, 8), 0.7)])
    got = advantages(mixed)
    if got[[0, 2]].abs().max() != 0:
        return "next to a group with real differences, a constant group has advantages other than 0"
    given = "a group with real differences between two constant ones"
    return tensor_differs(got[1:2], scaled(mixed[1:2]), rtol=0.02, given=given)


def as_it_is(rewards):
    mean, std = rewards.mean(-1, keepdim=True), rewards.std(-1, keepdim=True)
    return (rewards - mean) / (std + 1e-4)


def by_range(rewards):
    gap = rewards.amax(-1, keepdim=True) - rewards.amin(-1, keepdim=True)
    is_alive = gap > 1e-6 * rewards.abs().amax(-1, keepdim=True)
    return torch.where(is_alive, as_it_is(rewards), torch.zeros_like(rewards))


GUARD = Exercise(
    id="10.5",
    name="GUARD",
    title="Equal rewards give no advantage",
    minutes=6,
    difficulty="a few lines",
    points=3,
    reads="advantages",
    expects=(Callable,),
    hints=(
        "What is the largest difference within a group of equal rewards, before you take any mean?",
        "max - min of equal numbers is exactly 0; their mean may be off by rounding.",
        "Compute as before, then replace the results of the groups that hint 2 finds with 0. "
        "A group is one row of the tensor: keepdim=True keeps the rows apart.",
    ),
    form=gives_a_tensor,
    criteria=(
        Criterion(
            "Groups with real differences have GRPO's advantages.",
            scales_as_grpo,
            why="a guard must not change a healthy run",
            next="(reward - mean) / (std + 1e-4), for each group by itself, with the unbiased std",
        ),
        Criterion(
            "A group of equal rewards has advantages of exactly 0.",
            is_zero_on_constants,
            why="AdamW makes a full step with any gradient that is not 0",
            next="decide by max - min of the group, not by its mean or std, which are rounded",
        ),
        Criterion(
            "A group of one reply has an advantage of 0.",
            is_zero_for_one_reply,
            why="the std of one number is nan, and one nan makes every weight nan",
            next="nan * 0 is also nan: choose with torch.where or masked_fill",
        ),
        Criterion(
            "Gaps of 0.01 and 0.001 are kept.",
            keeps_small_gaps,
            why="a lower limit on the std removes real signal, too",
            next="lower your threshold: the rounding error of float32 is about 1e-7 of the reward",
        ),
        Criterion(
            "Each group is treated by itself.",
            looks_at_each_group,
            why="usually a batch mixes groups with and without differences",
            next="use dim=-1 with keepdim=True everywhere",
        ),
    ),
    answer=by_range,
)
