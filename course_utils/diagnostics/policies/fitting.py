"""Finds the sampler settings that turn given logits into given log-probs. Runs no model.

Temperature and penalty are fitted on a continuous scale; support by the number of tokens that
it left, which the log-probs betray: renormalised, they are too high by the log of the mass kept.
Shape letters: N = tokens, V = vocabulary, from the likeliest token on where a name says sorted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import exp, log

import torch
from torch import Tensor

from course_utils.diagnostics.policies.decoding import Decoding, logps_of, warp
from course_utils.diagnostics.policies.scoring import Tokens

MOST = 1.0  # nats that one token may count: one that a hypothesis excludes must not decide alone
WHOLE = 1 - 1e-4  # kept mass from which on nothing seems cut off
GOLDEN = (5**0.5 - 1) / 2
SUPPORTS = ("top_k", "top_p", "min_p")


@dataclass(frozen=True)
class Fit:
    """Settings, and the mean |difference| in nats that they leave."""

    decoding: Decoding
    left: float

    @property
    def num_settings(self) -> int:
        return sum(value != getattr(Decoding, name) for name, value in vars(self.decoding).items())


def left_over(tokens: Tokens, reported_N: Tensor, decoding: Decoding) -> float:
    """Mean |log-prob under these settings - reported|, each token counting up to `MOST`."""
    warped_NV = warp(tokens.logits_NV, tokens.seen_NV, decoding)
    return _mean_error(logps_of(warped_NV, tokens.ids_N) - reported_N)


def _mean_error(error_N: Tensor) -> float:
    return error_N.abs().nan_to_num(MOST, posinf=MOST).clamp(max=MOST).mean().item()


def best_fit(tokens: Tokens, reported_N: Tensor, num_settings: int) -> Fit:
    """The best of all hypotheses with this many settings: 0, 1 or 2."""
    round_of = (_no_setting, _one_setting, _two_settings)[num_settings]
    found = [
        Fit(decoding, left_over(tokens, reported_N, decoding))
        for decoding in round_of(tokens, reported_N)
    ]
    return min(found, key=lambda fit: fit.left)


def _no_setting(tokens: Tokens, reported_N: Tensor) -> Iterator[Decoding]:
    yield Decoding()


def _one_setting(tokens: Tokens, reported_N: Tensor) -> Iterator[Decoding]:
    yield _temperature(tokens, reported_N, Decoding())
    yield _penalty(tokens, reported_N, Decoding())
    cut = Cut(tokens, reported_N)
    yield from (cut.at(1.0, support)[0] for support in SUPPORTS)


def _two_settings(tokens: Tokens, reported_N: Tensor) -> Iterator[Decoding]:
    cut = Cut(tokens, reported_N)
    for support in SUPPORTS:
        best = lowest(lambda x, name=support: cut.at(exp(x), name)[1], log(0.3), log(3.0))
        yield cut.at(exp(best), support)[0]
    both = Decoding()
    for _ in range(4):
        both = _penalty(tokens, reported_N, both)
        both = _temperature(tokens, reported_N, both)
    yield both


def _temperature(tokens: Tokens, reported_N: Tensor, decoding: Decoding) -> Decoding:
    def at(log_temperature: float) -> Decoding:
        return replace(decoding, temperature=exp(log_temperature))

    return at(lowest(lambda x: left_over(tokens, reported_N, at(x)), log(0.2), log(5.0)))


def _penalty(tokens: Tokens, reported_N: Tensor, decoding: Decoding) -> Decoding:
    def at(log_penalty: float) -> Decoding:
        return replace(decoding, repetition_penalty=exp(log_penalty))

    return at(lowest(lambda x: left_over(tokens, reported_N, at(x)), log(0.5), log(2.0)))


def lowest(function: Callable[[float], float], low: float, high: float, num: int = 24) -> float:
    """The minimum of `function`: on a grid, then by golden section around its best point.

    >>> round(lowest(lambda x: (x - 0.123) ** 2, -1.0, 1.0), 4)
    0.123
    """
    step = (high - low) / num
    middle = min((low + step * n for n in range(num + 1)), key=function)
    low, high = middle - step, middle + step
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    of_left, of_right = function(left), function(right)
    while high - low > 1e-6:
        if of_left < of_right:
            high, right, of_right = right, left, of_left
            left = high - GOLDEN * (high - low)
            of_left = function(left)
        else:
            low, left, of_left = left, right, of_right
            right = low + GOLDEN * (high - low)
            of_right = function(right)
    return (low + high) / 2


class Cut:
    """Truncated support: for a temperature, the setting that explains most tokens."""

    def __init__(self, tokens: Tokens, reported_N: Tensor) -> None:
        self.sorted_NV = tokens.logits_NV.sort(-1, descending=True).values
        self.own_N = tokens.logits_NV.gather(-1, tokens.ids_N[:, None])[:, 0]
        self.reported_N = reported_N

    def at(self, temperature: float, support: str) -> tuple[Decoding, float]:
        """The best setting of this kind, and the mean |difference| that it leaves."""
        probs_NV = (self.sorted_NV / temperature).softmax(-1)
        mass_NV = probs_NV.cumsum(-1)
        logp_N = (self.own_N / temperature) - (self.sorted_NV / temperature).logsumexp(-1)
        kept_N = (logp_N - self.reported_N).exp()
        last_N = (mass_NV - kept_N[:, None]).abs().argmin(-1)  # index of the last token kept
        is_cut_N = kept_N < WHOLE
        plain = Decoding(temperature=temperature)
        if not is_cut_N.any():
            return plain, _mean_error(logp_N - self.reported_N)
        value = _setting(support, probs_NV[is_cut_N], mass_NV[is_cut_N], last_N[is_cut_N])
        inside_NV = {
            "top_k": lambda: torch.arange(mass_NV.shape[1]).expand_as(mass_NV) < value,
            "top_p": lambda: mass_NV - probs_NV < value,
            "min_p": lambda: probs_NV >= value * probs_NV[:, :1],
        }[support]()
        num_N1 = inside_NV.sum(-1, keepdim=True).clamp(min=1)
        predicted_N = logp_N - mass_NV.gather(-1, num_N1 - 1)[:, 0].log()
        return replace(plain, **{support: value}), _mean_error(predicted_N - self.reported_N)


def _setting(support: str, probs_CV: Tensor, mass_CV: Tensor, last_C: Tensor) -> float:
    """What top_k, top_p or min_p must have been, from the last token kept at each place."""
    if support == "top_k":
        return int(last_C.mode().values) + 1
    after_C1 = (last_C[:, None] + 1).clamp(max=probs_CV.shape[-1] - 1)
    least_C, next_C = (probs_CV.gather(-1, at)[:, 0] for at in (last_C[:, None], after_C1))
    if support == "min_p":
        return in_most(next_C / probs_CV[:, 0], least_C / probs_CV[:, 0])
    upper_C = mass_CV.gather(-1, last_C[:, None])[:, 0]
    return in_most(upper_C - least_C, upper_C)


def in_most(lower_C: Tensor, upper_C: Tensor) -> float:
    """A number inside as many of the intervals as possible, in the middle of its range.

    >>> in_most(torch.tensor([0.0, 0.25, 0.875]), torch.tensor([0.75, 0.5, 1.0]))
    0.375
    """
    ends = torch.cat([lower_C, upper_C]).unique()
    middles = (ends[1:] + ends[:-1]) / 2
    if not len(middles):
        return ends[0].item()
    inside = (lower_C[:, None] < middles) & (middles <= upper_C[:, None])
    return middles[inside.sum(0).argmax()].item()
