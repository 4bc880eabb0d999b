"""nan, inf, and a 0 that stands for one of them."""

import math

from course_utils.explain.finding import Finding
from course_utils.explain.log import Log
from course_utils.explain.numbers import said, share
from course_utils.explain.reading import Entry

TRAINED_ON = ("loss", "grad_norm", "policy_loss", "kl_loss")
HUGE = 1e6  # no loss of a model is; half of float32's range is further


def shown_as_zero(log: Log) -> Finding | None:
    """Transformers leaves a nan loss out of its running sum: 0 is printed beside grad_norm nan."""
    for entry, loss in log.series("loss"):
        if loss == 0 and not math.isfinite(entry.numbers.get("grad_norm", 0.0)):
            before = log.before(entry)
            huge = before is not None and abs(before.numbers.get("loss", 0.0)) > HUGE
            extra = (f"the entry before: {said(before, 'loss')}",) if huge else ()
            proof = f"{entry.where}: {said(entry, 'loss')} together with {said(entry, 'grad_norm')}"
            return Finding("nan_shown_as_zero", 9.0, entry, (proof, *extra))
    return None


def dead_from_the_start(log: Log) -> Finding | None:
    """Already the first entry is dead: training did not make it."""
    entry = log.entries[0]
    loss, norm = entry.numbers.get("loss", 1.0), entry.numbers.get("grad_norm", 1.0)
    if not math.isnan(loss) and not (loss == 0 and math.isnan(norm)):
        return None
    shown = [name for name in ("loss", "grad_norm") if name in entry.numbers]
    proof = f"{entry.where} is the first entry: {said(entry, *shown)}"
    against = () if entry.numbers.get("step", 1.0) <= 1 else ("steps before it were not logged",)
    return Finding("nan_from_the_start", 8.0, entry, (proof,), against)


def huge_loss(log: Log) -> Finding | None:
    """A window in which the filter added the same running mean again and again (lesson 03)."""
    entry = log.first("loss", lambda loss: math.isfinite(loss) and abs(loss) > HUGE)
    if entry is None or shown_as_zero(log):
        return None
    proof = f"{entry.where}: {said(entry, 'loss')}; no loss of a model is that large"
    return Finding("nan_shown_as_zero", 6.0, entry, (proof,), ("no entry with grad_norm nan",))


def dead_weights(log: Log) -> Finding | None:
    """From some entry on, everything that the run trains on is nan."""
    turned = _first_lasting(log)
    if turned is None or shown_as_zero(log):
        return None
    earlier = log.before(turned)
    names = [name for name in turned.numbers if math.isnan(turned.numbers[name])]
    proof = [f"{turned.where}: {', '.join(said(turned, name) for name in names)}, and to the end"]
    reward, length = log.values("reward"), log.values("length")
    if len(reward) > 1 and reward[-1] == 0 and max(reward) > 0:
        proof.append(f"the last reward is 0; it was up to {max(reward):.3g}")
    if len(length) > 1 and length[-1] > 1.5 * length[0]:
        proof.append(f"replies grew from {length[0]:.0f} to {length[-1]:.0f} tokens")
    if earlier is None:
        return None  # dead_from_the_start
    proof.append(f"before it, {earlier.where}: {said(earlier, names[0])}")
    return Finding("nan_weights", 8.0, turned, tuple(proof))


def _first_lasting(log: Log) -> Entry | None:
    for name in TRAINED_ON:
        series = log.series(name)
        if series and math.isnan(series[-1][1]):
            bad = [entry for entry, value in series if math.isnan(value)]
            tail = series[-len(bad) :]
            if all(math.isnan(value) for _, value in tail):
                return tail[0][0]
    return None


def lone_metric(log: Log) -> Finding | None:
    """kl or entropy is nan while loss and grad_norm are finite in the same entries."""
    for name in ("kl", "entropy", "reward_std", "eval_loss", "clip_ratio"):
        entry = log.first(name, math.isnan)
        if entry is None:
            continue
        beside = [n for n in ("loss", "grad_norm", "reward") if n in entry.numbers]
        if beside and all(math.isfinite(entry.numbers[n]) for n in beside):
            proof = f"{entry.where}: {said(entry, name)} beside {said(entry, *beside)}"
            return Finding("nan_metric", 6.0, entry, (proof,))
    return None


def now_and_then(log: Log) -> Finding | None:
    """The loss is nan in some entries and a number again in later ones: the weights survived."""
    series = log.series("loss")
    bad = [entry for entry, loss in series if not math.isfinite(loss)]
    if not bad or not math.isfinite(series[-1][1]):
        return None
    counted = f"{len(bad)} of {len(series)} losses are not finite, the first at {bad[0].where}"
    after = f"the last is finite: {series[-1][0].where}: {said(series[-1][0], 'loss')}"
    return Finding("nan_now_and_then", 6.0, bad[0], (counted, after))


def critic(log: Log) -> Finding | None:
    for name in ("critic_loss", "critic_grad_norm"):
        entry = log.first(name, math.isnan)
        if entry is not None:
            actor = entry.numbers.get("grad_norm", math.nan)
            proof = [f"{entry.where}: {said(entry, name)}"]
            if math.isfinite(actor):
                proof.append(f"the actor is well: {said(entry, 'grad_norm')}")
            return Finding("critic_nan", 8.5, entry, tuple(proof))
    return None


def overflowing_steps(log: Log) -> Finding | None:
    """grad_norm inf or nan beside a finite loss that is not 0: now and then, or always."""
    series = [(e, v) for e, v in log.series("grad_norm") if e.numbers.get("loss", 1.0) != 0]
    bad = [entry for entry, value in series if not math.isfinite(value)]
    if not bad or shown_as_zero(log) or not all(_has_finite_loss(entry) for entry in bad):
        return None
    counted = f"{len(bad)} of {len(series)} entries have a grad_norm that is not finite"
    first = f"the first is {bad[0].where}: {said(bad[0], 'grad_norm')}"
    if len(bad) == len(series):
        weight = 7.0 if len(bad) > 2 else 3.0
        return Finding("fp16_overflow", weight, bad[0], (counted, first))
    after = f"the run goes on: {said(series[-1][0], 'grad_norm')} at {series[-1][0].where}"
    is_rare = share(bad, series) <= 0.2 and math.isfinite(series[-1][1])
    return Finding(
        "scaler_search" if is_rare else "nan_now_and_then", 5.0, bad[0], (counted, after)
    )


def _has_finite_loss(entry: Entry) -> bool:
    return all(math.isfinite(entry.numbers.get(n, 0.0)) for n in ("loss", "policy_loss"))


RULES = (
    shown_as_zero,
    dead_from_the_start,
    huge_loss,
    dead_weights,
    lone_metric,
    now_and_then,
    critic,
    overflowing_steps,
)
