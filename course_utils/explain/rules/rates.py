"""The learning rate: 0, unusual, ending too early, restarted, never reached."""

import math
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.log_words import WARMS_UP
from course_utils.explain.paste.numbers import listed, said, thirds
from course_utils.explain.rules.mirrors import mirrored

LARGE_RATE, TINY_RATE = 1e-2, 1e-9
FALLEN = 0.9  # of the first losses
MANY_DECIMALS = 6  # as many show a rate of 1e-6
ENDS_EARLY = "the learning rate is at 0 long before the log ends"
NEVER_WARM = (
    "the warm-up is longer than the run, so the learning rate that was asked for is never reached",
    "fewer warmup_steps, or warmup_ratio; count the optimizer steps of the run",
)


def large_rate(log: Log) -> Finding | None:
    limit = LARGE_RATE if log.kind() == "supervised" else LARGE_RATE / 10
    entry = log.first("learning_rate", lambda rate: math.isfinite(rate) and rate >= limit)
    if entry is None:
        return None
    proof, losses = f"{entry.where}: {said(entry, 'learning_rate')}", log.values("loss")
    is_calm = any(losses) and all(map(math.isfinite, losses)) and losses[-1] <= 1.05 * losses[0]
    if is_calm and log.kind() == "preference" and not _falls_below_zero(log):
        return None
    rewards = [(e, v) for e, v in log.series("reward") if math.isfinite(v)]
    if len(rewards) > 3 and max(v for _, v in rewards[-3:]) < 0.2 * rewards[0][1]:
        fallen = f"{said(rewards[0][0], 'reward')} at {rewards[0][0].where}, "
        fallen += f"{said(rewards[-1][0], 'reward')} at {rewards[-1][0].where}"
        return Finding("rate_unusual", 7.5, rewards[1][0], (proof, fallen))
    against = ("the loss is finite and does not climb",) if is_calm else ()
    return Finding("rate_unusual", 4.5, entry, (proof,), against)


def _falls_below_zero(log: Log) -> bool:
    """Whether the chosen replies become less likely than the reference has them."""
    chosen = thirds(log.values("chosen_reward"))
    return bool(chosen) and chosen[2] < min(0.0, chosen[0])


def no_rate(log: Log, beside: Beside) -> Finding | None:
    """A rate of 0 in every entry, with more digits than the rate that was asked for needs."""
    rates = finite(log.values("learning_rate"))
    if len(rates) < 3 or max(rates) > 0:
        return None
    entry = log.series("learning_rate")[0][0]
    decimals = _decimals(entry, log)
    if decimals is not None and (decimals < 6 or _asked(beside) < 0.5 * 10**-decimals):
        return None  # 1e-6 would be printed as 0, too
    against = ()
    if decimals:
        against = (f"it is printed with {decimals} decimals: 4e-{decimals + 1} looks the same",)
    proof = f"learning_rate 0 in all {len(rates)} entries"
    return Finding("rate_zero", 7.0, entry, (proof,), against)


def tiny_rate(log: Log) -> Finding | None:
    """A rate that no optimizer of networks has a use for: 5e-12, as of a slip in an exponent."""
    rates = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v)]
    if len(rates) < 3 or not 0 < max(v for _, v in rates) < TINY_RATE:
        return None
    entry, rate = max(rates, key=lambda pair: pair[1])
    losses = thirds(log.values("loss"))
    proof = [f"learning_rate at most {rate:.2g}, {entry.where}, in {len(rates)} entries"]
    if losses and losses[2] < FALLEN * losses[0]:
        return None
    proof += [f"the loss by thirds of the log: {listed(losses)}"] if losses else []
    return Finding("rate_too_low", 6.0, entry, tuple(proof))


def _asked(beside: Beside) -> float:
    """The smallest rate that is asked for; infinite where none is printed."""
    return min((one.number for one in beside.of("learning_rate") if one.number), default=math.inf)


def _decimals(entry: Entry, log: Log) -> int | None:
    """With how many decimals the rate 0 is printed; None if it is printed as it is."""
    if decimals := entry.rounded.get("learning_rate"):
        return decimals
    if not any(name.startswith("actor/") for name in entry.names.values()):
        return None
    numbers = [v for one in log.entries for v in one.numbers.values() if math.isfinite(v)]
    is_full = any(round(value, MANY_DECIMALS - 1) != value for value in numbers)
    return None if is_full else 3  # verl rounds all numbers alike


def rate_ends_early(log: Log) -> Finding | None:
    """A learning rate that was above 0 is exactly 0 in the last third of the entries or more."""
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v)]
    alive = [number for number, (_, rate) in enumerate(series) if rate > 0]
    if len(series) < 6 or not alive or _decimals(series[-1][0], log):
        return None
    count = len(series) - 1 - alive[-1]
    if count < len(series) / 3:
        return None
    entry = series[alive[-1] + 1][0]
    proof = (
        f"{entry.where}: {said(entry, 'learning_rate')}, and 0 to the end ({count} of "
        f"{len(series)} entries)",
        f"it was up to {max(rate for _, rate in series):.2g}",
    )
    return Finding("schedule_ends_early", 7.0, entry, proof, why=ENDS_EARLY)


def zero_at_first(log: Log) -> Finding | None:
    """The rate is 0 in the first entries and above 0 in later ones: nothing stepped yet."""
    series = log.series("learning_rate")
    alive = next((number for number, (_, rate) in enumerate(series) if rate > 0), 0)
    if alive < 2 or _decimals(series[0][0], log):
        return None
    (first, _), (later, _) = series[0], series[alive]
    proof = (
        f"{said(first, 'learning_rate')} in the first {alive} of {len(series)} entries",
        f"{later.where}: {said(later, 'learning_rate')}",
    )
    return Finding("optimizer_waits", 3.0, first, proof)


def begun_anew(log: Log) -> Finding | None:
    """The rate warms up in the midst of a run: its schedule does not know the steps before."""
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v) and v >= 0]
    found = _second_warmup(series) or _late_warmup(series)
    if not found or mirrored(log) is not None:  # past_the_end
        return None
    entry, proof = found
    against = ("a schedule with restarts does the same",)
    return Finding("resumed_without_state", 6.0, entry, proof, against)


def _second_warmup(series: list[tuple[Entry, float]]) -> tuple[Entry, tuple[str, ...]] | None:
    """Where the rate drops to less than half and then climbs three times."""
    for at in range(2, len(series) - 2):
        rates = [rate for _, rate in series[at - 1 : at + 3]]
        before, now, *later = rates
        if 2 * now < before and len(later) == 2 and now < later[0] < later[1]:
            (earlier, _), (entry, _), (last, _) = series[at - 1], series[at], series[at + 2]
            return entry, (
                f"{earlier.where}: {said(earlier, 'learning_rate')}; {entry.where}: "
                f"{said(entry, 'learning_rate')}, and up again: "
                f"{said(last, 'learning_rate')} at {last.where}",
            )
    return None


def _late_warmup(series: list[tuple[Entry, float]]) -> tuple[Entry, tuple[str, ...]] | None:
    """A warm-up whose line meets 0 at a late step, and not at step 0."""
    points = [(e.numbers["step"], rate) for e, rate in series[:4] if "step" in e.numbers]
    if len(points) < 4 or not all(map(_climbs, pairwise(points))):
        return None
    (first, low), (last, high) = points[0], points[-1]
    begin = first - low * (last - first) / (high - low)
    if begin < 5 or begin < 0.5 * first:
        return None
    entry = series[0][0]
    return entry, (
        f"{entry.where}: {said(entry, 'step', 'learning_rate')}; the rate climbs from 0 at "
        f"step {begin:.0f} on, where a run that goes on is not in its warm-up",
    )


def _climbs(points: tuple[tuple[float, float], tuple[float, float]]) -> bool:
    (step, rate), (later, higher) = points
    return step < later and rate < higher


def data_again(log: Log) -> Finding | None:
    """The epoch falls back while the step goes on: the data begins anew."""
    entry = log.begun_again
    before = log.before(entry) if entry is not None and entry in log.entries else None
    if entry is None or before is None:
        return None
    shown = [said(one, "step", "epoch") for one in (before, entry) if "epoch" in one.numbers]
    proof = f"{entry.where}: {'; then '.join(shown)}"
    said_next = ("the steps count on and the epoch begins anew: rows are trained on again",)
    return Finding("resumed_without_state", 6.5, entry, (proof, *said_next))


def still_climbs(log: Log) -> Finding | None:
    """The run is over, and its rate has only ever climbed."""
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v)]
    rates = [rate for _, rate in series]
    if len(rates) < 6 or not all(a < b for a, b in pairwise(rates)):
        return None
    (first, _), (last, _) = series[0], series[-1]
    if _warms_up_longer(log.warms_up, last):
        known = f"{log.warms_up.where} says: {log.warms_up.text.strip()[-MAX_QUOTE:]}"
        weight = 6.5
    elif log.summary is not None:
        known, weight = f"the run is over: {log.summary.where} sums it up", 5.0
    else:
        return None
    proof = (
        f"{said(first, 'learning_rate')} at {first.where}, {said(last, 'learning_rate')} at "
        f"{last.where}: it rises in all {len(rates)} entries",
        known,
    )
    why, advice = NEVER_WARM
    return Finding("schedule_ends_early", weight, last, proof, why=why, advice=advice)


def _warms_up_longer(line: Line | None, last: Entry) -> bool:
    """Whether a line says more steps of warm-up than the last entry has taken."""
    said_so = WARMS_UP.search(line.text) if line is not None else None
    return said_so is not None and float(said_so[1]) > last.numbers.get("step", math.inf)


RULES = (
    large_rate,
    tiny_rate,
    rate_ends_early,
    zero_at_first,
    begun_anew,
    data_again,
    still_climbs,
)
RULES_OF_SETTINGS = (no_rate,)
