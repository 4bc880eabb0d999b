"""A grad_norm that is not finite beside a finite loss, and the messages of loss scalers."""

import math
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said, share, thirds

FEWEST, ALIKE = 8, 1.6  # entries; times the least that a step adds
CLIMBS = 1.3  # times the first losses
FEW_SCALES = 4  # entries
LOW, LEAST = 256.0, 4.0  # loss scales: float16 leaves its range although little is multiplied


def overflowing_steps(log: Log) -> Finding | None:
    """grad_norm inf or nan beside a finite loss that is not 0: always, at the end, or rarely."""
    series = [
        (e, v)
        for e, v in log.series("grad_norm")
        if e.numbers.get("loss", 1.0) != 0 or is_zero_by_formula(e)
    ]
    bad = [entry for entry, value in series if not math.isfinite(value)]
    if not bad or not all(_has_finite_loss(entry) for entry in bad):
        return None
    counted = f"{len(bad)} of {len(series)} entries have a grad_norm that is not finite"
    first = f"the first is {bad[0].where}: {said(bad[0], 'grad_norm')}"
    if len(bad) == len(series) and len(bad) > 1:
        key = "fp16_overflow" if log.names_scaler else "norm_never_finite"
        return Finding(key, 7.0, bad[0], (counted, first))
    last = series[-1][0]
    if bad[-1] is last and len(series) == 1 and (later := _alive_after(log, last)):
        after = f"the run goes on: {said(later, 'loss')} at {later.where}"
        return Finding("skipped_steps", 2.9, last, (counted, after))
    if bad[-1] is last:
        return _at_the_end(series)
    after = f"the run goes on: {said(last, 'grad_norm')} at {last.where}"
    if log.names_scaler and share(bad, series) < 0.5:
        return Finding("scaler_search", 5.0, bad[0], (counted, after))
    is_rare = share(bad, series) <= 0.2 or (len(bad) <= 5 and bad[-1] is series[len(bad) - 1][0])
    key = "skipped_steps" if is_rare else "nan_now_and_then"
    return Finding(key, 5.0, bad[0], (counted, after))


def is_zero_by_formula(entry: Entry) -> bool:
    """Whether a loss of 0 is one of a policy (advantages add up to 0), and hides no nan.

    What the loss is made of are numbers: the rewards, their spread, and the kl of the tokens.
    """
    parts = ("reward", "reward_std", "kl")
    return all(math.isfinite(entry.numbers.get(name, math.nan)) for name in parts)


def _alive_after(log: Log, entry: Entry) -> Entry | None:
    """The last entry behind this one with a loss that is a number."""
    later = [e for e, v in log.series("loss") if math.isfinite(v) and v]
    is_behind = bool(later) and log.entries.index(later[-1]) > log.entries.index(entry)
    return later[-1] if is_behind else None


def _at_the_end(series: list[tuple[Entry, float]]) -> Finding:
    """The gradient is not finite in the last entries, all of whose losses are."""
    tail = len(series)
    while tail and not math.isfinite(series[tail - 1][1]):
        tail -= 1
    turned = series[tail][0]
    shown = [n for n in ("loss", "policy_loss") if n in turned.numbers]
    beside = f" beside {said(turned, *shown)}" if shown else ""
    return Finding(
        "nan_gradient", 7.0, turned, (f"{turned.where}: {said(turned, 'grad_norm')}{beside}",)
    )


def _has_finite_loss(entry: Entry) -> bool:
    return all(math.isfinite(entry.numbers.get(n, 0.0)) for n in ("loss", "policy_loss"))


def scaler_skips(log: Log) -> Finding | None:
    """What DeepSpeed's scaler says: high scales are its search, low ones are an overflow."""
    if not log.skips:
        return None
    lowest = min(log.skips, key=lambda skip: skip.scale)
    counted = (
        f"{len(log.skips)} lines of a skipped step, at a loss scale of {log.skips[0].scale:g} "
        f"in the first and {lowest.scale:g} in the lowest, {lowest.line.where}"
    )
    if lowest.scale <= LOW:
        weight = 9.0 if lowest.scale <= LEAST else 6.5
        return Finding("fp16_overflow", weight, lowest.line, (counted,))
    return Finding("scaler_search", 4.0, log.skips[0].line, (counted,))


def scale_runs_down(log: Log) -> Finding | None:
    """The scale that is logged only ever falls, to next to nothing, and no gradient is finite."""
    series = [(e, v) for e, v in log.series("loss_scale") if v > 0]
    scales = [scale for _, scale in series]
    if len(series) < FEW_SCALES or scales[-1] > LEAST or scales[0] < LOW:
        return None
    if any(now > before for before, now in pairwise(scales)):
        return None
    if any(map(math.isfinite, log.values("grad_norm"))):
        return None
    (first, _), (last, _) = series[0], series[-1]
    proof = [
        f"{said(first, 'loss_scale')} at {first.where}, {said(last, 'loss_scale')} at "
        f"{last.where}: it never grows in {len(series)} entries, and no grad_norm is finite",
    ]
    if rates := log.values("learning_rate"):
        stands = f"the learning rate stays at {rates[0]:.2g}"
        proof += [stands] if len(set(rates)) == 1 else []
    return Finding("fp16_overflow", 9.6, last, tuple(proof))


def skipped_iterations(log: Log) -> Finding | None:
    """Megatron counts the steps that its scaler skipped since the line before."""
    series = log.series("skipped")
    bad = [entry for entry, count in series if count > 0]
    if not bad or not log.names_scaler:
        return None
    counted = f"{said(bad[0], 'skipped')} at {bad[0].where}; {len(bad)} of {len(series)} lines"
    scales = log.values("loss_scale")
    if scales:
        counted += f"; loss scale from {scales[0]:g} to {scales[-1]:g}"
    if scales and scales[-1] <= LOW and bad[-1] is series[-1][0]:
        return Finding("fp16_overflow", 6.5, bad[-1], (counted,))
    return Finding("scaler_search", 4.0, bad[0], (counted,))


def norms_add_up(log: Log) -> Finding | None:
    """grad_norm grows from 0 by the same amount with each step, from the first one on."""
    series = [(e, v) for e, v in log.series("grad_norm") if math.isfinite(v)]
    taken, norms = _steps_taken([entry for entry, _ in series]), [norm for _, norm in series]
    if len(norms) < FEWEST or not taken or taken[-1] < FEWEST * taken[0] or min(norms) <= 0:
        return None
    of_a_step = [norm / steps for norm, steps in zip(norms, taken, strict=True)]
    falls = [1 for before, now in pairwise(norms) if now < before]
    if max(of_a_step) > ALIKE * min(of_a_step) or share(falls, norms) > 0.1:
        return None
    if _grows_with_each_step([entry.numbers.get("loss") for entry, _ in series], taken):
        return None
    (first, low), (last, high) = series[0], series[-1]
    proof = (
        f"grad_norm {low:.4g} at {first.where}, {high:.4g} at {last.where}: "
        f"{min(of_a_step):.3g} to {max(of_a_step):.3g} for each of {taken[-1]:.0f} steps",
    )
    levels = thirds(log.values("loss"))
    climbs = levels is not None and levels[2] > CLIMBS * levels[0]  # a norm may grow with a loss
    return Finding("gradients_not_cleared", 5.4 if climbs else 7.5, first, proof)


def _grows_with_each_step(losses: list[float | None], taken: list[float]) -> bool:
    """Whether the loss grows from 0 as the norm does: its weight is warmed up with the steps."""
    if None in losses or min(losses) <= 0:
        return False
    of_a_step = [loss / steps for loss, steps in zip(losses, taken, strict=True)]
    return max(of_a_step) <= ALIKE * min(of_a_step)


def _steps_taken(entries: list[Entry]) -> list[float]:
    """How many steps each entry has behind it, its own too; [] if the first ones are missing."""
    steps = [entry.numbers.get("step") for entry in entries]
    if None in steps:
        return [float(number) for number in range(1, len(entries) + 1)]
    taken = [step - min(0.0, steps[0] - 1) for step in steps]
    between = [now - before for before, now in pairwise(taken)]
    begins = bool(between) and taken[0] <= 2 * max(1.0, min(between))
    return taken if begins and min(between) > 0 else []


RULES = (norms_add_up, overflowing_steps, scaler_skips, scale_runs_down, skipped_iterations)
