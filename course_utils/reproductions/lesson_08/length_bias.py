"""A toy of length bias: a policy that knows whether it is right decides when to stop.

A reply is one right or wrong token (given) and a tail. One logit says how likely the tail stops
after a right token, one after a wrong token; nothing else is learnt. S = seeds, G = groups,
R = replies of a group.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

NUM_GROUPS, NUM_REPLIES, CAP, NUM_STEPS, LR, STOP = 8, 8, 64, 300, 0.05, 0.1
LOSS_TYPES = ("grpo", "bnpo", "dapo", "dr_grpo")
MICRO = 16  # replies of a micro-batch, for bnpo


def token_weights(lengths: Tensor, loss_type: str, *, cap: int = CAP, micro: int = MICRO) -> Tensor:
    """The factor of one token's loss in each reply, as TRL 1.16 computes it.

    Args:
        lengths: tokens of each reply, shape (..., replies).

    Returns:
        The shape of `lengths`, float64.
    """
    lengths = lengths.double()
    num = lengths.shape[-1]
    if loss_type == "grpo":
        return 1 / (num * lengths)
    if loss_type == "dapo":
        return (1 / lengths.sum(-1, keepdim=True)).expand_as(lengths)
    if loss_type == "bnpo":
        parts = lengths.unflatten(-1, (-1, micro))
        own = (micro / num) / parts.sum(-1, keepdim=True)
        return own.expand_as(parts).flatten(-2)
    return torch.full_like(lengths, 1 / (num * cap))  # dr_grpo


@dataclass(frozen=True)
class Drift:
    """Mean length in the last 20 steps, one number per seed."""

    right: Tensor
    wrong: Tensor
    all: Tensor

    @property
    def gap(self) -> Tensor:
        return self.right - self.wrong


def drift(
    loss_type: str,
    share_right: float = 0.5,
    *,
    neutral: bool = False,
    scaled: bool = True,
    num_seeds: int = 5,
    num_groups: int = NUM_GROUPS,
    num_steps: int = NUM_STEPS,
) -> Drift:
    """Train the two logits with Adam, all seeds side by side, and return the final lengths.

    Args:
        share_right: of the replies; it is given, and not learnt.
        neutral: the reward is drawn anew for each reply, whatever the reply is.
        scaled: advantages are divided by the group's standard deviation.
    """
    draw = torch.Generator().manual_seed(1000 * num_seeds + int(100 * share_right))
    shape = (num_seeds, num_groups * NUM_REPLIES)
    start = torch.logit(torch.tensor(STOP, dtype=torch.float64))
    logits_S2 = start.repeat(num_seeds, 2).requires_grad_()
    optimizer, seen = torch.optim.Adam([logits_S2], lr=LR), []
    for step in range(num_steps):
        is_wrong = (torch.rand(shape, generator=draw) >= share_right).long()
        stop = logits_S2.sigmoid().gather(1, is_wrong)
        tail, stopped = _tails(stop.detach(), draw)
        reward = torch.rand(shape, generator=draw) < share_right if neutral else 1 - is_wrong
        advantage = advantages(reward.double(), scaled=scaled)
        # the tail goes on tail - 1 times, and then stops, or reaches the cap
        logp = (tail - 1) * (-stop).log1p() + torch.where(stopped, stop.log(), (-stop).log1p())
        weight = token_weights(1 + tail, loss_type)
        optimizer.zero_grad()
        (-(weight * advantage * logp).sum()).backward()
        optimizer.step()
        if step >= num_steps - 20:
            seen.append((tail.double(), is_wrong))
    return _measured(seen)


def _tails(stop: Tensor, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Lengths from 1 to CAP - 1, drawn from the stop probability, and whether it stopped."""
    uniform = torch.rand(stop.shape, generator=draw, dtype=torch.float64).clamp(min=1e-300)
    length = (uniform.log() / (-stop).log1p()).ceil().clamp(min=1)
    return length.clamp(max=CAP - 1), length <= CAP - 1


def advantages(reward: Tensor, *, scaled: bool = True) -> Tensor:
    """Reward less the group's mean, over its standard deviation if `scaled`; shape (..., G * R)."""
    groups = reward.unflatten(-1, (-1, NUM_REPLIES))
    centred = groups - groups.mean(-1, keepdim=True)
    spread = groups.std(-1, keepdim=True) + 1e-4 if scaled else 1.0
    return (centred / spread).flatten(-2)


def _measured(seen: list[tuple[Tensor, Tensor]]) -> Drift:
    tails = torch.cat([tail for tail, _ in seen], dim=1)
    is_wrong = torch.cat([wrong for _, wrong in seen], dim=1).bool()

    def mean_of(chosen: Tensor) -> Tensor:
        return (tails * chosen).sum(1) / chosen.sum(1)

    return Drift(mean_of(~is_wrong), mean_of(is_wrong), tails.mean(1))
