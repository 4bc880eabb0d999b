"""A policy that gets a right or a wrong token and then chooses the length of a tail.

The tail earns nothing, so a loss that does not pay for length leaves it alone. Shape letters:
B = replies, T = places in the tail, K = go on or stop; row 0 of two is right, row 1 wrong.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM

BEGIN, RIGHT, WRONG, TAIL, END = range(5)
LIMIT, GROUPS, N, RATE = 40, 8, 8, 2e-3
STOPS_AT_FIRST = 0.1
Batch = dict[str, Tensor]
# What the loss of a reply is multiplied by, of lengths (B,).
NORMALISERS: dict[str, Callable[[Tensor], Tensor]] = {
    "grpo": lambda length_B: 1 / (length_B * len(length_B)),
    "dr_grpo": lambda length_B: torch.full_like(length_B, 1 / (len(length_B) * LIMIT)),
}


def build() -> Qwen2ForCausalLM:
    """One layer over five tokens."""
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=5,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=64,
        )
    )


def hazards(model: Qwen2ForCausalLM) -> Tensor:
    """Log-probs of going on and of stopping at each place, (2, T, K)."""
    rows = torch.tensor([[BEGIN, first] + [TAIL] * (LIMIT - 1) for first in (RIGHT, WRONG)])
    logits = model(input_ids=rows).logits[:, 1:][..., [TAIL, END]]
    odds = torch.tensor(STOPS_AT_FIRST / (1 - STOPS_AT_FIRST))
    return (logits + torch.stack([torch.zeros(()), odds.log()])).log_softmax(-1)


def tail_logp(hazard_2TK: Tensor, batch: Batch) -> Tensor:
    """Log-prob of tails that go on `stop` times and then stop, or are cut at LIMIT, (B,)."""
    kind_B, stop_B = batch["kind"], batch["stop"]
    gone_on = torch.cat([torch.zeros(2, 1), hazard_2TK[..., 0].cumsum(1)], 1)
    stopped = hazard_2TK[kind_B, stop_B.clamp(max=LIMIT - 1), 1]
    return gone_on[kind_B, stop_B] + torch.where(stop_B == LIMIT, 0.0, stopped)


class TailLoop:
    """GRPO on that policy: one update a rollout, on policy.

    Args:
        normaliser: a key of NORMALISERS.
    """

    def __init__(self, normaliser: str, seed: int) -> None:
        self.model = build()
        self.generator = torch.Generator().manual_seed(seed)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=RATE)
        self.weigh = NORMALISERS[normaliser]

    @torch.no_grad()
    def rollout(self) -> Batch:
        """Kinds (0 is right), places where the tails stop, lengths, advantages; each (B,)."""
        kind_B = torch.randint(2, (GROUPS * N,), generator=self.generator)
        noise = torch.rand(GROUPS * N, LIMIT, generator=self.generator)
        stops = noise < hazards(self.model)[kind_B, :, 1].exp()
        stop_B = torch.where(stops.any(1), stops.int().argmax(1), LIMIT)
        reward = (kind_B == 0).float().view(GROUPS, N)
        centred = reward - reward.mean(1, keepdim=True)
        return {
            "kind": kind_B,
            "stop": stop_B,
            "length": (stop_B + 2).clamp(max=LIMIT + 1).float(),
            "advantage": (centred / (reward.std(1, keepdim=True) + 1e-4)).flatten(),
        }

    def loss(self, model: Qwen2ForCausalLM, batch: Batch) -> Tensor:
        logp_B = tail_logp(hazards(model), batch)
        return -(self.weigh(batch["length"]) * batch["advantage"] * logp_B).sum()

    def step(self) -> dict[str, float]:
        """One update, and what verl would log of it."""
        batch = self.rollout()
        loss = self.loss(self.model, batch)
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        length_B, is_right = batch["length"], batch["kind"] == 0
        return {
            "actor/pg_loss": loss.item(),
            "actor/grad_norm": norm.item(),
            "critic/score/mean": is_right.float().mean().item(),
            "response_length/mean": length_B.mean().item(),
            "response_length/right": length_B[is_right].mean().item(),
            "response_length/wrong": length_B[~is_right].mean().item(),
        }
