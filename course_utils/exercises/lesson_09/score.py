"""Exercise 09.1: log-probs at the sampler's temperature and on its support."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.probes import gradient_of

SHAPES = ((), (1,), (6,), (3, 4), (2, 1, 3))
VOCABULARY = 12
SETTINGS = ((1.0, 1.0), (0.6, 1.0), (1.7, 1.0), (1.0, 0.8), (0.6, 0.9), (1.7, 0.7), (0.3, 0.5))


def due(logits: Tensor, ids: Tensor, temperature: float, top_p: float) -> Tensor:
    """The right log-probs in float64, token by token."""
    rows = logits.double().reshape(-1, logits.shape[-1]) / temperature
    out = []
    for row, token in zip(rows, ids.reshape(-1).tolist(), strict=True):
        probs = row.detach().softmax(-1)
        inside, mass = {token}, 0.0
        for likely in probs.argsort(descending=True).tolist():
            if mass < top_p:
                inside.add(likely)
                mass += probs[likely].item()
        out.append(row[token] - row[sorted(inside)].logsumexp(-1))
    return torch.stack(out).reshape(ids.shape)


def _draw(seed: int, shape: tuple[int, ...], dtype=torch.float32, lost: bool = False):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn((*shape, VOCABULARY), generator=generator).mul(2).to(dtype)
    ids = torch.randint(VOCABULARY, shape, generator=generator)
    if not lost:  # a sampler draws likely tokens
        ids = logits.argmax(-1)
    return logits, ids


def _cases(lost: bool = False):
    for seed, shape in enumerate(SHAPES):
        for dtype in (torch.float32, torch.float64):
            logits, ids = _draw(seed, shape, dtype, lost)
            name = f"{str(dtype).removeprefix('torch.')} logits of shape {tuple(logits.shape)}"
            yield logits, ids, name


def _differs(score: Callable, settings, *, lost: bool = False) -> str | None:
    for logits, ids, name in _cases(lost):
        for temperature, top_p in settings:
            got = score(logits, ids, temperature, top_p)
            want = due(logits, ids, temperature, top_p).to(got.dtype)  # any float format will do
            given = f"{name}, temperature {temperature}, top_p {top_p}"
            if seen := tensor_differs(got, want, rtol=1e-3, atol=1e-5, given=given):
                return seen + _as_if(got, logits, ids, temperature, top_p)
    return None


def _as_if(got: Tensor, *given: object) -> str:
    """The slip that gives exactly these numbers, where it is a known one."""
    for slip, compute in SLIPS.items():
        made = compute(*given).double()
        if made.shape == got.shape and torch.allclose(made, got.double(), rtol=1e-4, atol=1e-5):
            return f"; these are the numbers that come out {slip}"
    return ""


def gives_one_number_a_token(score) -> str | None:
    logits, ids = _draw(5, (3, 4))
    got = score(logits, ids, 1.0, 1.0)
    if not isinstance(got, Tensor):
        return f"it returns a {type(got).__name__}; a tensor is needed"
    if got.shape != ids.shape:
        return f"for ids of shape (3, 4) the result has shape {tuple(got.shape)}"
    if not got.is_floating_point():
        return f"its numbers are {got.dtype}; log-probs need a float dtype"
    return None


def has_the_temperature(score) -> str | None:
    return _differs(score, [pair for pair in SETTINGS if pair[1] == 1.0])


def has_the_support(score) -> str | None:
    return _differs(score, [pair for pair in SETTINGS if pair[1] < 1.0])


def keeps_what_was_sampled(score) -> str | None:
    return _differs(score, SETTINGS, lost=True) or _loses_a_rare_one(score)


def _loses_a_rare_one(score: Callable) -> str | None:
    """A probability of exp(-150) is 0 in float32; its log-prob is not -inf."""
    logits, ids = torch.zeros(2, VOCABULARY), torch.tensor([3, 0])
    logits[:, 0] = 150.0
    got, want = score(logits, ids, 1.0, 0.9), due(logits, ids, 1.0, 0.9)
    given = "a sampled token whose logit is 150 below the largest, and the largest"
    return tensor_differs(got, want.to(got.dtype), rtol=1e-3, atol=1e-5, given=given)


def can_be_trained(score) -> str | None:
    for shape in SHAPES:
        logits, ids = _draw(7, shape)
        for settings in SETTINGS:
            got, problem = gradient_of(score, (logits, ids, *settings))
            if problem:
                return problem
            want, _ = gradient_of(due, (logits.double(), ids, *settings))
            given = f"logits of shape {tuple(logits.shape)}, settings {settings}, the gradient"
            want = want.to(got.dtype)
            if seen := tensor_differs(got, want, rtol=1e-3, atol=1e-5, given=given):
                return seen
    return None


def _pick(logp, ids):
    return logp.gather(-1, ids[..., None])[..., 0]


def _kept(scaled, top_p):
    ordered, order = scaled.detach().softmax(-1).sort(-1, descending=True)
    before = ordered.cumsum(-1) - ordered
    return torch.zeros_like(scaled, dtype=torch.bool).scatter(-1, order, before < top_p)


def by_scatter(logits, ids, temperature, top_p):
    scaled = logits / temperature
    return _cut(scaled, ids, _kept(scaled, top_p))


def _cut(logits, ids, kept):
    kept = kept.scatter(-1, ids[..., None], True)
    return _pick(logits.masked_fill(~kept, -torch.inf).log_softmax(-1), ids)


def _without_the_crossing(scaled, top_p):
    ordered, order = scaled.softmax(-1).sort(-1, descending=True)
    inside = ordered.cumsum(-1) < top_p
    return torch.zeros_like(scaled, dtype=torch.bool).scatter(-1, order, inside)


# What a known slip computes; each takes logits x, ids i, temperature t and top_p p.
SLIPS = {
    "if the temperature is left out": lambda x, i, t, p: by_scatter(x, i, 1.0, p),
    "if they are multiplied by the temperature": lambda x, i, t, p: by_scatter(x, i, 1 / t, p),
    "if the logits are divided twice": lambda x, i, t, p: by_scatter(x / t, i, t, p),
    "if the log-probs are divided, and not the logits": (
        lambda x, i, t, p: by_scatter(x, i, 1.0, p) / t
    ),
    "if exp is taken of the log-probs": lambda x, i, t, p: by_scatter(x, i, t, p).exp(),
    "without a cut by top_p": lambda x, i, t, p: by_scatter(x, i, t, 1.0),
    "if log top_p is subtracted everywhere": (
        lambda x, i, t, p: by_scatter(x, i, t, 1.0) - math.log(p)
    ),
    "if the tokens are ranked before the temperature": (
        lambda x, i, t, p: _cut(x / t, i, _kept(x, p))
    ),
    "if the token that crosses top_p is dropped": (
        lambda x, i, t, p: _cut(x / t, i, _without_the_crossing(x / t, p))
    ),
}

SCORE = Exercise(
    id="09.1",
    name="SCORE",
    title="Score what was sampled",
    minutes=14,
    difficulty="some lines",
    points=4,
    reads="score",
    expects=(Callable,),
    hints=(
        "From which logits did the sampler draw, and which tokens could it not have drawn?",
        "Divide the logits, then sort their softmax: a token stays if the mass *before* it is "
        "below top_p. The sampled token always stays.",
        "Build the mask in the sorted order, and bring it back to the order of the vocabulary with "
        "scatter. Which logits get -inf, and over what do you normalise after that?",
    ),
    form=gives_one_number_a_token,
    criteria=(
        Criterion(
            "At top_p 1 they are log-probs of logits / temperature.",
            has_the_temperature,
            why="temperature acts before the softmax, and top_p 1 removes no token",
            next="divide the logits once; keep every token at top_p 1; normalise afterwards",
        ),
        Criterion(
            "Below 1 they are normalised over the tokens that top_p leaves.",
            has_the_support,
            why="the kept mass is at least top_p and differs from position to position",
            next="which logits rank the tokens? Take those after the temperature",
        ),
        Criterion(
            "The sampled token is kept, even if your own order drops it.",
            keeps_what_was_sampled,
            why="rounding can move a token below the cut, and one -inf makes the loss nan",
            next="keep the sampled token in the mask, then normalise; use log_softmax, since the "
            "log of a probability that is rounded to 0 is -inf",
        ),
        Criterion(
            "The gradient reaches the logits and is right.",
            can_be_trained,
            why="the loss differentiates this function",
            next="keep the graph: no detach, no no_grad, no .data on the scored logits",
        ),
    ),
    answer=by_scatter,
)
