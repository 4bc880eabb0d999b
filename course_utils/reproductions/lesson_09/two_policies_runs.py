"""Recorded runs with two policies; run this module with `python -m` to record them again.

A lesson has time for some five runs, and a claim about training needs ten seeds. The file holds
what each run logged, and the truth on held-out sums; no judgement.
Shape letters: B = replies, T = tokens of a reply.
"""

import gzip
import json
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import click
import torch
from torch import Tensor

from course_utils.diagnostics.policies.decoding import Decoding, logps_of, warp

NUM_STEPS = 8
FILE = Path(__file__).with_name("two_policies_runs.json.gz")


def scored_as(decoding: Decoding):
    """Log-probs under the sampler's settings."""

    def score(logits_BTV: Tensor, ids_BT: Tensor) -> Tensor:
        nothing = torch.zeros_like(logits_BTV, dtype=torch.bool)
        return logps_of(warp(logits_BTV, nothing, decoding), ids_BT)

    return score


def token_weights(logp_BT: Tensor, engine_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """verl's `rollout_is: token` with a threshold of 2."""
    return (logp_BT - engine_BT).exp().clamp(max=2.0)


def sequence_weights(logp_BT: Tensor, engine_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """verl's `rollout_is: sequence` with a threshold of 2."""
    total_B1 = ((logp_BT - engine_BT) * mask_BT).sum(-1, keepdim=True)
    return total_B1.exp().clamp(max=2.0).expand_as(logp_BT)


@dataclass(frozen=True)
class RunKind:
    """One sort of run: arguments of `Engine` and of `TwoPolicies`, and the number of seeds."""

    engine: dict = field(default_factory=dict)
    loop: dict = field(default_factory=dict)
    num_seeds: int = 10
    bits: int = 0  # of the engine's weights; 0 is as they are
    view: str = ""  # a name in `views`


COLD, HOT = Decoding(temperature=0.6), Decoding(temperature=2.0)
TOKEN, SEQUENCE = {"weigh": token_weights}, {"weigh": sequence_weights}
KINDS = {
    "equal": RunKind(),
    "system prompt": RunKind(view="system"),
    "T 0.6": RunKind({"decoding": COLD}),
    "T 2": RunKind({"decoding": HOT}),
    "bf16 engine": RunKind({"dtype": "bfloat16"}),
    "never synced": RunKind(loop={"sync_every": 0}),
    "int3 engine": RunKind(bits=3),
    "int4 engine": RunKind(bits=4),
    "int2 engine": RunKind(bits=2),
    "T 4": RunKind({"decoding": Decoding(temperature=4.0)}),
    "int3, engine's old": RunKind(bits=3, loop={"old": "engine"}),
    "system prompt, engine's old": RunKind(loop={"old": "engine"}, view="system"),
    "int3, token weights": RunKind(bits=3, loop=TOKEN),
    "int3, sequence weights": RunKind(bits=3, loop=SEQUENCE),
    "T 0.6, scored at 0.6": RunKind({"decoding": COLD}, {"score": scored_as(COLD)}),
    "system prompt, token weights": RunKind(loop=TOKEN, view="system", num_seeds=5),
    "system prompt, sequence weights": RunKind(loop=SEQUENCE, view="system", num_seeds=5),
    "system prompt, KL": RunKind(
        loop={"use_kl_loss": True, "kl_loss_coef": 0.1}, view="system", num_seeds=5
    ),
}


@dataclass(frozen=True)
class RecordedRun:
    """One recorded run; lists have one entry per rollout."""

    held_out: float  # of 256 sums, the trained policy sampled at temperature 1, after the run
    gap: list[float]  # mean |log-prob of trainer - of engine| of a token, nats
    rollout: list[float]  # share of right replies in the engine's rollouts
    clipped: list[float]
    ppo_kl: list[float]
    weight: list[float]  # mean weight of a token; empty without weights


def build(kind: str, seed: int):
    """The run of a kind, not yet started."""
    from course_utils.reproductions.lesson_09.engine import (  # seconds; reading needs neither
        Engine,
        quantise,
    )
    from course_utils.reproductions.lesson_09.two_policies import TwoPolicies, views

    one = KINDS[kind]
    change = partial(quantise, bits=one.bits) if one.bits else None
    engine = Engine(change=change, **one.engine)
    return TwoPolicies(engine, view=views().get(one.view), seed=seed, **one.loop)


def record(kind: str, seed: int, *, num_steps: int = NUM_STEPS) -> RecordedRun:
    """Train one run, and write down what it logs."""
    run = build(kind, seed)
    run.train(num_steps)
    updates = {
        name: [_short(update[f"actor/{name}"]) for update in run.updates]
        for name in ("pg_clipfrac", "ppo_kl")
    }
    return RecordedRun(
        run.held_out(),
        gap=[*map(_short, run.gaps)],
        rollout=[_short(step["critic/score/mean"]) for step in run.steps],
        clipped=updates["pg_clipfrac"],
        ppo_kl=updates["ppo_kl"],
        weight=[*map(_short, run.weights)],
    )


def _short(value: float) -> float:
    return float(f"{value:.4g}")


@cache
def _file() -> dict[str, list[dict]]:
    return json.loads(gzip.decompress(FILE.read_bytes()))


def recorded(kind: str) -> list[RecordedRun]:
    """Every recorded run of a kind, by seed."""
    return [RecordedRun(**run) for run in _file()[kind]]


def write(runs: dict[str, list[dict]]) -> None:
    """Write the file; the same runs give the same bytes."""
    FILE.write_bytes(gzip.compress(json.dumps(runs).encode(), mtime=0))


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice(list(KINDS)))
def main(kinds: tuple[str, ...]) -> None:
    """Record the named kinds again, or all of them: some fifteen minutes of CPU."""
    for kind in kinds or KINDS:
        made = [vars(record(kind, seed)) for seed in range(KINDS[kind].num_seeds)]
        _file.cache_clear()
        write((_file() if FILE.exists() else {}) | {kind: made})
        ends = [run["held_out"] for run in made]
        click.echo(f"{kind}: {sum(ends) / len(ends):.3f}, mean of {len(ends)} runs")


if __name__ == "__main__":
    main()
