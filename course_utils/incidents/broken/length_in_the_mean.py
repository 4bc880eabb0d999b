"""GRPO's mean of means: a wrong reply pays less the longer it is, so it grows.

The policy is given a right or a wrong token and then a tail that may stop at every place. The
tail earns nothing, so a loss without that bias leaves its length alone. Shape letters: B = replies,
T = places in the tail; row 0 of two is right, row 1 wrong.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM, set_seed

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import mean

BEGIN, RIGHT, WRONG, TAIL, END = range(5)
LIMIT, GROUPS, N, STEPS, RATE = 40, 8, 8, 80, 2e-3
STOPS_AT_FIRST = 0.1
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
    """Log-probs of going on and of stopping, (2, LIMIT, 2)."""
    rows = torch.tensor([[BEGIN, first] + [TAIL] * (LIMIT - 1) for first in (RIGHT, WRONG)])
    logits = model(input_ids=rows).logits[:, 1:][..., [TAIL, END]]
    bias = torch.tensor([0.0, torch.tensor(STOPS_AT_FIRST / (1 - STOPS_AT_FIRST)).log()])
    return (logits + bias).log_softmax(-1)


def tail_logp(hazard_2TK: Tensor, kind_B: Tensor, stop_B: Tensor) -> Tensor:
    """Log-prob of a tail that goes on `stop_B` times and then stops, or is cut at LIMIT, (B,)."""
    gone_on = torch.cat([torch.zeros(2, 1), hazard_2TK[..., 0].cumsum(1)], 1)
    stopped = hazard_2TK[kind_B, stop_B.clamp(max=LIMIT - 1), 1]
    return gone_on[kind_B, stop_B] + torch.where(stop_B == LIMIT, 0.0, stopped)


def make(variant: Variant, seed: int) -> Run:
    set_seed(seed)
    model, generator = build(), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    weigh = NORMALISERS["grpo" if variant == "broken" else "dr_grpo"]
    run = Run(model=model, start=lambda: None, parts={"optimizer": optimizer})

    def step() -> dict[str, float]:
        hazard = hazards(model)
        kind_B = torch.randint(2, (GROUPS * N,), generator=generator)
        noise = torch.rand(GROUPS * N, LIMIT, generator=generator)
        stops = noise < hazard.detach()[kind_B, :, 1].exp()
        stop_B = torch.where(stops.any(1), stops.int().argmax(1), LIMIT)
        length_B = (stop_B + 2).clamp(max=LIMIT + 1).float()
        reward = (kind_B == 0).float().view(GROUPS, N)
        spread = reward.std(1, keepdim=True) + 1e-4
        advantage_B = ((reward - reward.mean(1, keepdim=True)) / spread).flatten()
        logp_B = tail_logp(hazard, kind_B, stop_B)
        loss = -(weigh(length_B) * advantage_B * logp_B).sum()
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        right, wrong = (length_B[kind_B == kind].mean().item() for kind in (0, 1))
        return {
            "actor/pg_loss": loss.item(),
            "actor/grad_norm": norm.item(),
            "critic/score/mean": reward.mean().item(),
            "response_length/mean": length_B.mean().item(),
            "response_length/right": right,
            "response_length/wrong": wrong,
        }

    run.start = lambda: run.log.extend({"step": n} | step() for n in range(1, STEPS + 1))
    run.facts = lambda: {"gap": gap(run)}
    return run


def gap(run: Run) -> float:
    """How much longer wrong replies are than right ones in the last twenty steps, in tokens."""
    last = run.log[-20:]
    return mean(e["response_length/wrong"] - e["response_length/right"] for e in last)


def shows(run: Run) -> bool:
    return gap(run) > 12


INCIDENT = Incident(
    name="length_in_the_mean",
    kind="length_bias",
    says="The completions grow over the run, and it is the wrong ones that grow.",
    cause="Each reply's loss is divided by its own length: a long wrong reply is punished less "
    "for each token than a short one, and a short right one is paid more.",
    fix="A normaliser that does not depend on the reply's length (loss_type='dr_grpo').",
    threads=("trl#3138", "trl#3256", "understand-r1-zero#10"),
    rebuilt="A loop of its own on one layer that is told whether its answer is right; TRL's "
    "default is another normaliser today.",
    make=make,
    shows=shows,
    causes=("length_into_limit",),
    place="response_length",
)
