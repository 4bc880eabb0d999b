"""How much of a pair's difference remains under a few hypotheses on its engine. Names no cause."""

from dataclasses import dataclass

import torch

from course_utils import zoo
from course_utils.diagnostics.policies.decoding import Decoding, logps_of, warp
from course_utils.diagnostics.policies.scoring import logits_of, tokens_of
from course_utils.reproductions.lesson_09.policy_pairs import LENGTH, Pair, pair

TEMPERATURES = [0.4 + step / 60 for step in range(90)]
SIX = ("temperature", "stale", "healthy", "top_p", "system prompt", "bfloat16")


def six_pairs(seed: int) -> list[Pair]:
    """Six pairs, each after two steps whose weights were kept."""
    return [pair(cause, seed + 3, steps=2) for cause in SIX]


@dataclass(frozen=True)
class Remainders:
    """Mean |difference| per token in nats, as it is and under each hypothesis about the engine."""

    as_it_is: float
    below_0: float  # share of the tokens to which the trainer gives less
    best_temperature: float
    at_best_temperature: float
    with_older_weights: float
    in_bfloat16: float


def left(case: Pair) -> Remainders:
    """Sample once, score under each hypothesis; it needs `snapshots`."""
    ids, said = case.sampler(case.prompts, length=LENGTH)
    scored = case.trainer(case.prompts, ids)[1]
    s_N, t_N = (torch.tensor([logp for row in side for logp in row]) for side in (said, scored))
    tokens = tokens_of(case.model, case.prompts, ids)

    def off(logits_NV: torch.Tensor, temperature: float = 1.0) -> float:
        warped_NV = warp(logits_NV, tokens.seen_NV, Decoding(temperature=temperature))
        return (logps_of(warped_NV, tokens.ids_N) - s_N).abs().mean().item()

    other = zoo.load_policy("tiny", device="cpu").eval()
    older = []
    for state in case.snapshots.values():
        other.load_state_dict(state)
        older.append(off(logits_of(other, case.prompts, ids)))
    half = zoo.load_policy("tiny", device="cpu", dtype="bfloat16").eval()
    half.load_state_dict(case.model.state_dict())
    best = min(TEMPERATURES, key=lambda t: off(tokens.logits_NV, t))
    return Remainders(
        as_it_is=(t_N - s_N).abs().mean().item(),
        below_0=((t_N - s_N) < -1e-5).float().mean().item(),
        best_temperature=best,
        at_best_temperature=off(tokens.logits_NV, best),
        with_older_weights=min(older),
        in_bfloat16=off(logits_of(half, case.prompts, ids)),
    )
