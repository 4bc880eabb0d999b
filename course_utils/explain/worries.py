"""Reasons not to call a log healthy: numbers that go astray."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, thirds, trend
from course_utils.explain.rules.preference import loses_little
from course_utils.explain.rules.start import UNIFORM

Levels = tuple[float, float, float]
SLOWER = 5  # times
FEW, CLEARLY = 4, 0.1  # numbers of a short run; of the first of them
RARE = 0.01  # of all steps


def _falls(levels: Levels) -> bool:
    return levels[2] < levels[0] - 0.02 * abs(levels[0])


def _rises(levels: Levels) -> bool:
    return levels[2] > levels[0] + 0.02 * abs(levels[0])


def _grows(factor: float) -> Callable[[Levels], bool]:
    return lambda levels: levels[2] > factor * abs(levels[0])


def _shrinks(factor: float) -> Callable[[Levels], bool]:
    return lambda levels: abs(levels[2]) < abs(levels[0]) / factor


ASTRAY = (  # field, whether its trend is odd, in words
    ("reward", _falls, "falls"),
    ("accuracy", _falls, "falls"),
    ("token_accuracy", _falls, "falls"),
    ("eval_accuracy", _falls, "falls"),
    ("margin", _falls, "falls"),
    ("eval_loss", _rises, "rises"),
    ("grad_norm", _grows(5), "grows"),
    ("token_error", lambda levels: levels[2] > 1.2 and levels[2] > 1.1 * levels[0], "grows"),
    ("kl", lambda levels: levels[2] > max(0.2, 20 * abs(levels[0])), "grows"),
    ("entropy", _grows(2), "grows"),
    ("entropy", _shrinks(4), "shrinks"),
    ("length", _shrinks(2), "shrinks"),
    ("length", _grows(3), "grows"),
    ("truncated_share", lambda levels: levels[2] > 0.3 and _rises(levels), "rises"),
    ("zero_std_share", lambda levels: levels[2] > 0.7 and _rises(levels), "rises"),
)


def worries(log: Log) -> Iterator[str]:
    """Each a sentence with the numbers that it rests on."""
    if not log.entries:
        return
    for name, is_odd, verb in ASTRAY:
        levels = trend(log.values(name))
        if name == "reward" and log.scores_pairs:
            continue  # the mean of a reward model's scores is free
        if levels and is_odd(levels):
            yield f"{_name(log, name)} {verb}: {listed(levels)} by thirds"
    yield from _of_a_short_run(log)
    levels = trend(log.values("loss"))
    if levels and _rises(levels) and log.kind() != "policy":
        yield f"{_name(log, 'loss')} rises: {listed(levels)} by thirds"
    chosen = trend(log.values("chosen_reward"))
    if (
        chosen
        and chosen[2] < -1
        and not log.scores_alone
        and _falls(chosen)
        and not loses_little(log)
    ):
        yield f"{_name(log, 'chosen_reward')} falls: {listed(chosen)} by thirds"
    yield from _levels(log)
    if log.error is not None:
        yield f"{log.error.where} says: {log.error.text[:80]}"


def _of_a_short_run(log: Log) -> Iterator[str]:
    """A reward or an accuracy that falls with every entry of a run too short for a trend."""
    for name in ("reward", "accuracy", "eval_accuracy"):
        values = finite(log.values(name))
        if len({entry.names[name] for entry, _ in log.series(name)}) > 1:
            continue  # several metrics, of one name here
        falls = all(now < before for before, now in pairwise(values))
        if FEW <= len(values) < 6 and falls and values[0] - values[-1] > CLEARLY * abs(values[0]):
            ends = f"from {values[0]:.3g} to {values[-1]:.3g}"
            yield f"{_name(log, name)} falls in each entry, {ends}"


def _levels(log: Log) -> Iterator[str]:
    """Numbers that are far from where they belong, without a trend."""
    kl, loss = finite(log.values("kl")), finite(log.values("loss"))
    if kl and max(map(abs, kl)) > 10:
        yield f"{_name(log, 'kl')} up to {max(kl, key=abs):.3g}"
    per_nat = 1 / math.log(2) if _name(log, "grad_norm") == "gnorm" else 1  # fairseq counts bits
    if loss and log.kind() == "supervised" and loss[0] > UNIFORM * per_nat:
        yield (
            f"{_name(log, 'loss')} begins at {loss[0]:.3g}, above the cost of a guess in any usual "
            f"vocabulary ({UNIFORM:g}), as if no weights were loaded or the loss were a sum"
        )
    if loss and log.kind() == "supervised" and min(loss) < 0:
        yield f"{_name(log, 'loss')} below 0: {min(loss):.3g}"
    trained, judged = trend(log.values("loss")), finite(log.values("eval_loss"))
    if trained and len(judged) >= 3 and trained[2] < 0.8 * trained[0] and judged[-1] > judged[0]:
        yield f"{_name(log, 'eval_loss')} goes from {judged[0]:.4g} to {judged[-1]:.4g}"
    if loss and log.kind() == "supervised" and 0 < max(loss) < 2e-3:
        yield f"{_name(log, 'loss')} is below 2e-3 from the first entry on: {loss[0]:.3g}"
    skipped = finite(log.values("skipped"))
    if skipped and skipped[-1] > 0 and not _rests(skipped) and not _are_all_shown(log):
        yield f"{_name(log, 'skipped')} is still {skipped[-1]:.3g} in the last entry"
    tied = finite(log.values("zero_std_share"))
    if tied and min(tied) > 0.9:
        yield f"{_name(log, 'zero_std_share')} is never below {min(tied):.3g}"
    speeds = finite(log.values("throughput"))
    if slow := _slows_down(speeds):
        yield f"{_name(log, 'throughput')} falls from {slow[0]:.4g} to {slow[1]:.4g}"
    cut = finite(log.values("truncated_share"))
    if len(cut) > 2 and min(cut) > 0.9:
        yield f"{_name(log, 'truncated_share')} is never below {min(cut):.3g}"
    rewards = thirds(log.values("reward"))
    if rewards and max(map(abs, rewards)) == 0 and math.isfinite(rewards[0]):
        yield f"{_name(log, 'reward')} is 0 throughout"


def _slows_down(speeds: list[float]) -> tuple[float, float] | None:
    """The best speed, and the first of two that are far below it."""
    best = 0.0
    for now, then in pairwise(speeds):
        if best > SLOWER * max(now, then):
            return best, now
        best = max(best, now)
    return None


def _rests(counts: list[float]) -> bool:
    """Whether these count from the beginning on, and have come to rest."""
    grows = all(now >= before for before, now in pairwise(counts))
    return len(counts) > 2 and counts[-1] > 1 and grows and counts[-1] == counts[-2]


def _are_all_shown(log: Log) -> bool:
    """Whether the steps that are counted are those few whose lines stand in the log."""
    entry, count = log.series("skipped")[-1]
    return count <= len(log.skips) and count < RARE * entry.numbers.get("step", 0.0)


def _name(log: Log, name: str) -> str:
    """The log's own word for a field."""
    return next((e.names[name] for e in log.entries if name in e.names), name)
