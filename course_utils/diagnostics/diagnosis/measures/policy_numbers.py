"""Numbers of one batch of sampled replies: their probabilities on each side, their rewards.

Shape letters: N replies, G replies of a group, T tokens of a reply.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

FAR_TOKEN = 0.05  # nats: log-probs of one token that differ by more are not the same


@dataclass(frozen=True)
class PolicyNumbers:
    """Numbers of one batch of replies. A number is None if its parts are unknown."""

    num_replies: int
    logp_difference: float | None = None  # mean |trainer - sampler| over the tokens
    sampler_nan: float | None = None  # share of the sampler's log-probs that are nan or inf
    ratio: float | None = None  # mean of exp(trainer - sampler)
    rows_apart: float | None = None  # share of the replies with a token that disagrees
    agrees_until: float | None = None  # in those, the share of tokens before the first such one
    gap_new: float | None = None  # logp_difference of prompts that no batch had before
    gap_again: float | None = None  # of the others
    gap_flipped: float | None = None  # of tokens that sampler and trainer route differently
    gap_routed: float | None = None  # of the others
    flipped: int = 0  # number of such tokens
    kl_k1: float | None = None  # mean of policy - reference
    kl_k3: float | None = None  # mean of exp(r - p) - (r - p) - 1
    entropy: float | None = None  # of the trainer's distribution, mean over the tokens, in nats
    advantage_std: float | None = None
    advantage_max: float | None = None  # largest magnitude
    share_no_signal: float | None = None  # of the groups, those whose advantages are all 0
    length: float | None = None
    share_truncated: float | None = None
    share_masked: float | None = None  # of the replies, those of which no token is in the loss
    share_empty: float | None = None  # of the replies, those that hold nothing but their end
    reward: float | None = None  # mean, weighted
    moved: float | None = None  # mean |change| of the last batch's log-probs since it was sampled
    long_loses: float | None = None  # mean length of replies below the mean, by those above it

    def to_dict(self) -> dict[str, float]:
        return {name: value for name, value in vars(self).items() if value is not None}


def policy_numbers(
    *,
    mask: Tensor,
    said: Tensor | None = None,
    logps: Tensor | None = None,
    sampler_logps: Tensor | None = None,
    reference_logps: Tensor | None = None,
    entropies: Tensor | None = None,
    advantages: Tensor | None = None,
    group: int | None = None,
    ended: Tensor | None = None,
    is_new: Tensor | None = None,
    flips: Tensor | None = None,
) -> PolicyNumbers:
    """The numbers of one batch.

    Args:
        mask: (N, T), 1 where a token of the reply is in the loss.
        said: (N, T), 1 where a token belongs to the reply; the mask, if it is not given.
        logps, sampler_logps, reference_logps: (N, T) log-probs of the same tokens, by trainer,
            sampler and reference, in nats.
        entropies: (N, T) of the trainer's distributions, in nats.
        advantages: (N,) or (N, T).
        group: G, the number of replies to one prompt, which stand next to each other.
        ended: (N,), whether a reply ended by itself.
        is_new: (N,), whether no batch before had its prompt.
        flips: (N, T), whether a router sends the token before to other experts in the sampler.
    """
    keep = mask.bool()
    held = (keep if said is None else said.bool()).sum(1)
    found: dict[str, float] = {"length": float(held.float().mean())}
    found["share_masked"] = float((~keep.any(1)).double().mean())
    if logps is not None and sampler_logps is not None:
        gap = (logps.double() - sampler_logps.double()).abs()
        found |= _agreement(logps.double(), sampler_logps.double(), keep, is_new)
        found |= {} if flips is None else _routed(gap, keep & gap.isfinite(), flips)
    if logps is not None and reference_logps is not None:
        away = (reference_logps.double() - logps.double())[keep]
        found |= {"kl_k1": _mean(-away), "kl_k3": _mean(away.exp() - away - 1)}
    if entropies is not None:
        found["entropy"] = _mean(entropies.double()[keep])
    if advantages is not None:
        found |= _signal(advantages, keep, group)
    if ended is not None:
        found["share_truncated"] = 1 - float(ended.double().mean())
    if ended is not None and (said is not None or bool(keep.any())):  # else a mask hides them
        found["share_empty"] = float((held - ended.int().to(held.device) <= 0).double().mean())
    return PolicyNumbers(num_replies=len(mask), **found)


def _mean(values: Tensor) -> float:
    return float(values.mean()) if values.numel() else math.nan


def _agreement(
    logps: Tensor, sampler: Tensor, keep: Tensor, is_new: Tensor | None
) -> dict[str, float]:
    known = keep & sampler.isfinite() & logps.isfinite()
    gap = torch.where(known, logps - sampler, 0.0)
    bad = gap.abs() > FAR_TOKEN
    rows = bad.any(1)
    found = {
        "logp_difference": _mean(gap[known].abs()),
        "sampler_nan": _mean((~sampler.isfinite() & logps.isfinite())[keep].double()),
        "ratio": _mean(gap[known].exp()),
        "rows_apart": float(rows.double().mean()),
    }
    for name, of_rows in (("gap_new", is_new), ("gap_again", None if is_new is None else ~is_new)):
        if of_rows is not None and bool((chosen := known & of_rows[:, None]).any()):
            found[name] = _mean(gap[chosen].abs())
    if bool(rows.any()):
        first = bad[rows].double().argmax(1)
        found["agrees_until"] = float((first / keep[rows].sum(1).clamp_min(1)).mean())
    return found


def _routed(gap: Tensor, keep: Tensor, flips: Tensor) -> dict[str, float]:
    found = {"flipped": int((keep & flips).sum())}
    for name, chosen in (("gap_flipped", keep & flips), ("gap_routed", keep & ~flips)):
        if bool(chosen.any()):
            found[name] = _mean(gap[chosen])
    return found


def _signal(advantages: Tensor, keep: Tensor, group: int | None) -> dict[str, float]:
    per_reply = advantages.double()
    if per_reply.dim() == 2:
        per_reply = (per_reply * keep).sum(1) / keep.sum(1).clamp_min(1)
    found = {
        "advantage_std": float(per_reply.std()) if len(per_reply) > 1 else 0.0,
        "advantage_max": float(per_reply.abs().max()),
    }
    if group and len(per_reply) % group == 0:
        grouped = per_reply.view(-1, group)
        found["share_no_signal"] = float((grouped.abs().amax(1) < 1e-6).double().mean())
    lengths = keep.sum(1).double()
    good, poor = lengths[per_reply > 0], lengths[per_reply < 0]
    if len(good) and len(poor):
        found["long_loses"] = float(poor.mean() / good.mean().clamp_min(1))
    return found
