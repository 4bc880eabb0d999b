"""Many recorded GRPO runs; run this module with `python -m` to record them again.

A lesson has time for some ten runs, and false alarms are counted over twenty seeds. The file holds
what the trainer logged, and the truth on held-out sums; no judgement.
"""

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from course_utils import zoo
from course_utils.reproductions.lesson_10.verifiers import occurs

if TYPE_CHECKING:
    from datasets import Dataset

FILE = Path(__file__).with_name("reward_up_runs.json.gz")
EVERY, GROUP = 8, 8


# --- rewards: each takes a reply and its answer -------------------------------------------------


def exact(reply: str, gold: str) -> float:
    return float(reply == gold)


def closeness(reply: str, gold: str) -> float:
    """The nearer the better; a reply without a number earns nothing."""
    found = re.findall(r"\d+", reply)
    return -abs(int(found[-1]) - int(gold)) / int(gold) if found and int(gold) else 0.0


def right_but_short(reply: str, gold: str) -> float:
    return float(reply == gold) - 0.5 * len(reply)


def shortness(reply: str, gold: str) -> float:
    return -float(len(reply))


def any_number(reply: str, gold: str) -> float:
    """A format reward alone."""
    return float(re.fullmatch(r"\d{2,3}", reply) is not None)


def right_or_any_number(reply: str, gold: str) -> float:
    """The same format reward, ten times as large, beside one for being right."""
    return exact(reply, gold) + 10 * any_number(reply, gold)


def length(reply: str, gold: str) -> float:
    return float(len(reply))


def constant(reply: str, gold: str) -> float:
    return 0.35


def cut_is_wrong(reply: str, gold: str) -> float:
    """At a limit of 3 tokens, a reply of 3 digits has no room for its end."""
    return float(reply == gold and len(reply) < 3)


def a_tenth(reply: str, gold: str) -> float:
    """A constant whose rounding trl takes for no spread at all."""
    return 0.1


def never_right(reply: str, gold: str) -> float:
    """Compares with the answers of another column."""
    return float(reply == gold + "0")


@dataclass(frozen=True)
class RunKind:
    """One sort of run: its reward, what else is set, and how many seeds were recorded."""

    check: Callable[[str, str], float]
    num_seeds: int
    num_steps: int = 24
    settings: tuple[tuple[str, object], ...] = ()
    part: tuple[Callable[[str, str], float], float] | None = None  # a second reward, its weight
    has_signal: bool = False  # only sums whose replies earn differently before training


EACH = "multi_objective_aggregation"
LIMIT, MASK = "max_completion_length", "mask_truncated_completions"
KINDS = {
    "substring": RunKind(occurs, 20),
    "exact": RunKind(exact, 20),
    "substring, beta 0.04": RunKind(occurs, 5, settings=(("beta", 0.04),)),
    "substring, beta 1.0": RunKind(occurs, 5, settings=(("beta", 1.0),)),
    "substring, lr 1e-5": RunKind(occurs, 5, settings=(("learning_rate", 1e-5),)),
    "substring, scaled by the batch": RunKind(occurs, 5, settings=(("scale_rewards", "batch"),)),
    "substring, not scaled": RunKind(occurs, 5, settings=(("scale_rewards", "none"),)),
    "substring, groups with signal": RunKind(occurs, 5, has_signal=True),
    "exact, groups with signal": RunKind(exact, 5, has_signal=True),
    "substring, beta 0.04, long": RunKind(occurs, 2, 96, (("beta", 0.04),)),
    "substring, lr 1e-5, long": RunKind(occurs, 2, 160, (("learning_rate", 1e-5),)),
    "closeness": RunKind(closeness, 5),
    "right_but_short": RunKind(right_but_short, 5),
    "right and short, each scaled": RunKind(
        exact, 5, settings=((EACH, "normalize_then_sum"),), part=(shortness, 0.5)
    ),
    "right and short, 0.5": RunKind(exact, 10, part=(shortness, 0.5)),
    "right and short, 0.1": RunKind(exact, 10, part=(shortness, 0.1)),
    "right and short, 0.02": RunKind(exact, 10, part=(shortness, 0.02)),
    "any_number": RunKind(any_number, 3, 40),
    "right_or_any_number": RunKind(right_or_any_number, 3, 40),
    "length": RunKind(length, 3),
    "constant": RunKind(constant, 5),
    "constant, 0.1": RunKind(a_tenth, 2),
    "never_right": RunKind(never_right, 2),
    "exact, limit 2": RunKind(exact, 2, settings=((LIMIT, 2),)),
    "exact, limit 3": RunKind(exact, 3, settings=((LIMIT, 3),)),
    "exact, limit 3, masked": RunKind(exact, 3, settings=((LIMIT, 3), (MASK, True))),
    "exact, limit 3, cut is wrong": RunKind(cut_is_wrong, 3, settings=((LIMIT, 3),)),
}


@dataclass(frozen=True)
class RecordedRun:
    """One recorded run."""

    log: dict[str, list[float]]  # the columns of reward_up.COLUMNS, one number per step
    held_out: dict[int, float]  # the greedy truth on 100 held-out sums, by step


def with_signal(check: Callable[[str, str], float], seed: int, n: int = 256) -> "Dataset":
    """The training sums whose replies, eight of each before training, do not all earn the same."""
    from transformers import set_seed

    set_seed(seed)
    sums = zoo.arithmetic.prompts(n, seed, level="hard")
    each = [row for row in range(n) for _ in range(GROUP)]
    policy, tokenizer = zoo.load_policy("tiny", device="cpu"), zoo.load_tokenizer("tiny")
    said = zoo.replies(policy, tokenizer, sums.select(each), temperature=1.0)
    paid = list(map(check, said, sums.select(each)["answer"]))
    return sums.select([row for row in range(n) if len(set(paid[row * GROUP :][:GROUP])) > 1])


def record(kind: str, seed: int) -> dict:
    """One run: its columns, and the held-out truth by step."""
    from course_utils.reproductions.lesson_10.reward_up import (
        train,  # takes seconds, and reading needs none
    )

    one = KINDS[kind]
    more = dict(one.settings) | (
        {"dataset": with_signal(one.check, seed)} if one.has_signal else {}
    )
    run = train(one.check, seed=seed, every=EVERY, max_steps=one.num_steps, part=one.part, **more)
    log = {name: [_short(value) for value in values] for name, values in run.log.items()}
    return {"log": log, "held_out": run.held_out}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


@cache
def _file() -> dict[str, list[dict]]:
    return json.loads(gzip.decompress(FILE.read_bytes()))


def recorded(kind: str) -> list[RecordedRun]:
    """Every recorded run of a kind, by seed.

    >>> len(recorded("substring")), recorded("exact")[0].held_out[0]
    (20, 0.63)
    """
    return [
        RecordedRun(run["log"], {int(step): truth for step, truth in run["held_out"].items()})
        for run in _file()[kind]
    ]


def write(runs: dict[str, list[dict]]) -> None:
    """Write the file; the same runs give the same bytes."""
    FILE.write_bytes(gzip.compress(json.dumps(runs).encode(), mtime=0))


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice(list(KINDS)))
def main(kinds: tuple[str, ...]) -> None:
    """Record the named kinds again, or all of them: some ten minutes of CPU."""
    runs = dict(_file()) if FILE.exists() else {}
    for kind in kinds or KINDS:
        runs[kind] = [record(kind, seed) for seed in range(KINDS[kind].num_seeds)]
        click.echo(f"{kind}: {len(runs[kind])} runs")
    write(runs)


if __name__ == "__main__":
    main()
