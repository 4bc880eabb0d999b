"""Exercise 09.3: truncated importance weights, of tokens and of sequences."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise, not_tested

SHAPES = ((4, 6), (1, 5), (3, 1), (2, 9))


def due(logp: Tensor, engine: Tensor, mask: Tensor, level: str, cap: float) -> Tensor:
    """The right weights, in float64 and row by row."""
    out = torch.zeros_like(logp, dtype=torch.float64)
    for row in range(len(logp)):
        places = mask[row].bool()
        d = (logp[row, places] - engine[row, places]).detach().double()
        ratio = d.exp() if level == "token" else d.sum().exp().expand_as(d)
        out[row, places] = ratio.clamp(max=cap)
    return out


def _draw(seed: int, shape: tuple[int, int], *, padding: float = 0.0, size: float = 0.4):
    generator = torch.Generator().manual_seed(seed)
    logp = -torch.rand(shape, generator=generator) * 3
    engine = logp + torch.randn(shape, generator=generator) * size
    lengths = torch.randint(1, shape[1] + 1, (shape[0], 1), generator=generator)
    mask = (torch.arange(shape[1]) < lengths).long()
    return logp.masked_fill(mask == 0, padding), engine.masked_fill(mask == 0, -padding), mask


def _differs(weights: Callable, level: str, caps=(2.0, 5.0), **how) -> str | None:
    for seed, shape in enumerate(SHAPES):
        for cap in caps:
            args = _draw(seed, shape, **how)
            want = due(*args, level, cap).float()
            given = f"level {level!r}, cap {cap:g}, log-probs of shape {shape}"
            got = weights(*args, level, cap)
            got = got.float() if isinstance(got, Tensor) else got
            if seen := tensor_differs(got, want, rtol=1e-4, atol=1e-6, given=given):
                return seen
    return None


def gives_a_weight_a_token(weights) -> str | None:
    for level in ("token", "sequence"):
        got = weights(*_draw(0, (4, 6)), level, 2.0)
        if not isinstance(got, Tensor):
            return f"it returns a {type(got).__name__}; a tensor is needed"
        if got.shape != (4, 6):
            return f"at level {level!r}, (4, 6) log-probs give weights of {tuple(got.shape)}"
    return None


def weighs_tokens(weights) -> str | None:
    return _differs(weights, "token")


def weighs_sequences(weights) -> str | None:
    return _differs(weights, "sequence") or _differs(weights, "sequence", size=1.5)


def _not_reached(weights) -> str | None:
    if weighs_tokens(weights) or weighs_sequences(weights):
        return not_tested("a criterion above is not met")
    return None


def ignores_padding(weights) -> str | None:
    if seen := _not_reached(weights):
        return seen
    for level in ("token", "sequence"):
        for padding in (3.0, 500.0, float("nan")):
            if seen := _differs(weights, level, padding=padding):
                return f"with {padding:g} at the padding, {seen}"
    return None


def survives_large_differences(weights) -> str | None:
    if seen := _not_reached(weights):
        return seen
    for level in ("token", "sequence"):
        if seen := _differs(weights, level, size=60.0):
            return f"with differences of some 60 nats, {seen}"
    return None


def is_a_constant(weights) -> str | None:
    logp, engine, mask = _draw(1, (4, 6))
    for level in ("token", "sequence"):
        leaf = logp.clone().requires_grad_()
        if weights(leaf, engine, mask, level, 2.0).requires_grad:
            return f"at level {level!r} the weights have a graph: the loss differentiates them"
    return None


def _d(logp, engine, mask):
    return torch.where(mask.bool(), logp - engine, 0.0).detach()


def by_where(logp, engine, mask, level, cap):
    d = _d(logp, engine, mask)
    if level == "sequence":
        d = d.sum(-1, keepdim=True).expand_as(d)
    return d.exp().clamp(max=cap) * mask


WEIGH = Exercise(
    id="09.3",
    name="WEIGH",
    title="Weights with a cap",
    minutes=7,
    difficulty="a few lines",
    points=3,
    reads="weights",
    expects=(Callable,),
    hints=(
        "What is the probability ratio of a whole reply, expressed by the d of its tokens?",
        "exp of the sum of d, not the sum of exp. d is the trainer's log-prob minus the engine's, "
        "and 0 at the padding before you sum.",
        "torch.where sets d to 0 at the padding whatever is there, and detach makes it a constant. "
        "In which order do sum, exp, cap and mask follow?",
    ),
    form=gives_a_weight_a_token,
    criteria=(
        Criterion(
            "At level 'token' each token has its own ratio, at most the cap.",
            weighs_tokens,
            why="a weight is trainer over engine, and the cap changes only what is above it",
            next="exp(logp - engine), clamped from above, and 0 at padding",
        ),
        Criterion(
            "At level 'sequence' all tokens of a reply have the ratio of the reply.",
            weighs_sequences,
            why="the probability of a reply is the product over its tokens",
            next="sum d over the reply, then one exp and one clamp; no mean",
        ),
        Criterion(
            "The numbers at the padding change nothing.",
            ignores_padding,
            why="0 * nan is nan, and 500 nats at the padding would dominate the sum",
            next="torch.where before any sum, not a product with the mask",
        ),
        Criterion(
            "Differences of 60 nats give the cap or 0, not nan.",
            survives_large_differences,
            why="such tokens exist where the two sides see different texts",
            next="take one exp of a sum and clamp it afterwards: an inf becomes the cap, not nan",
        ),
        Criterion(
            "The weights are constants.",
            is_a_constant,
            why="a weight with a graph adds a gradient of its own",
            next="detach the difference",
        ),
    ),
    answer=by_where,
)
