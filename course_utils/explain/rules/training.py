"""Losses of any run: 0, climbing, flat, off by a factor, learned by heart, falling."""

import math
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.log import Log, finite
from course_utils.explain.numbers import listed, said, share, spread, thirds, trend

UNIFORM = 12.0  # ln of a vocabulary of 163,000; a guess costs no more
LARGE_RATE = 1e-2


def labels_masked(log: Log) -> Finding | None:
    """A supervised loss of 0 (or nan) from the first entry on, without a gradient."""
    series = log.series("loss")
    if log.kind() != "supervised" or not series:
        return None
    dead = [entry for entry, loss in series if loss == 0 or math.isnan(loss)]
    norm = dead[0].numbers.get("grad_norm", 0.0) if dead else 0.0
    if len(dead) == 1 and math.isnan(dead[0].numbers["loss"]):
        return None  # of one nan the log does not show the reason
    if not dead or dead[0] is not series[0][0] or share(dead, series) < 0.9 or norm != 0:
        return None
    shown = [name for name in ("loss", "grad_norm") if name in dead[0].numbers]
    proof = f"{len(dead)} of {len(series)} entries, from the first on: {said(dead[0], *shown)}"
    is_nan = math.isnan(dead[0].numbers["loss"])
    against = ("nan weights at the start would look the same",) if is_nan else ()
    return Finding("labels_masked", 4.0 if is_nan else 6.5, dead[0], (proof,), against)


def turned_to_zero(log: Log) -> Finding | None:
    """A supervised loss that becomes exactly 0 from one entry to the next, and stays there."""
    series = log.series("loss")
    alive = [number for number, (_, loss) in enumerate(series) if loss != 0]
    if log.kind() != "supervised" or not alive or len(series) - alive[-1] < 2:
        return None
    before, turned = series[alive[-1]][0], series[alive[-1] + 1][0]
    norm = turned.numbers.get("grad_norm", 1.0)
    if not math.isfinite(norm) or abs(before.numbers["loss"]) < 0.01:
        return None
    shown = [name for name in ("loss", "grad_norm") if name in turned.numbers]
    proof = [
        f"{turned.where}: {said(turned, *shown)}, and 0 to the end",
        f"before it, {before.where}: {said(before, 'loss')}",
    ]
    norms = log.values("grad_norm")
    if len(norms) > 1 and len(set(norms)) == 1 and norm:
        proof.append(f"{said(turned, 'grad_norm')} in all {len(norms)} entries, to the last digit")
    return Finding("numbers_broken", 6.5, turned, tuple(proof))


def climbing(log: Log) -> Finding | None:
    """A finite loss that ends far above its best; the entry is the one where it jumps."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    levels = thirds([value for _, value in series])
    if levels is None or log.kind() == "policy":
        return None
    best = min(levels[:2])
    if levels[2] < 1.5 * best or levels[2] - best < 0.3 or max(abs(v) for _, v in series) > 1e6:
        return None
    middle = (best + levels[2]) / 2
    above = len(series)
    while above > 1 and series[above - 1][1] > middle:
        above -= 1
    before, jump = series[above - 1][0], series[min(above, len(series) - 1)][0]
    proof = [
        f"{jump.where}: {said(jump, 'loss')}, before it {before.where}: {said(before, 'loss')}",
        f"the loss by thirds of the log: {listed(levels)}",
    ]
    norms = thirds(log.values("grad_norm"))
    if norms and norms[2] > 1.5 * min(norms[:2]):
        proof.append(f"grad_norm climbs with it: {listed(norms)}")
    rates = finite(log.values("learning_rate"))
    if rates:
        proof.append(f"learning_rate up to {max(rates):.2g}")
    return Finding("rate_too_high", 6.0, jump, tuple(proof))


def large_rate(log: Log) -> Finding | None:
    limit = LARGE_RATE if log.kind() == "supervised" else LARGE_RATE / 10
    entry = log.first("learning_rate", lambda rate: math.isfinite(rate) and rate >= limit)
    if entry is None:
        return None
    proof, losses = f"{entry.where}: {said(entry, 'learning_rate')}", log.values("loss")
    is_calm = losses and all(map(math.isfinite, losses)) and losses[-1] <= losses[0]
    if is_calm and log.kind() == "preference" and not _falls_below_zero(log):
        return None
    against = ("the loss is finite and does not climb",) if is_calm else ()
    return Finding("rate_unusual", 4.5, entry, (proof,), against)


def _falls_below_zero(log: Log) -> bool:
    """Whether the chosen replies become less likely than the reference has them."""
    chosen = thirds(log.values("chosen_reward"))
    return bool(chosen) and chosen[2] < min(0.0, chosen[0])


def above_uniform(log: Log) -> Finding | None:
    """The first losses are above ln(vocabulary), with a gradient in the thousands."""
    losses, norms = finite(log.values("loss"))[:5], finite(log.values("grad_norm"))[:5]
    if log.kind() != "supervised" or len(losses) < 2 or not norms:
        return None
    if not UNIFORM < min(losses) <= max(losses) < 100 or median(norms) < 1000:
        return None
    entry = log.series("loss")[0][0]
    shown = [n for n in ("loss", "grad_norm", "learning_rate") if n in entry.numbers]
    return Finding("above_uniform", 6.5, entry, (f"{entry.where}: {said(entry, *shown)}",))


def off_by_a_factor(log: Log) -> Finding | None:
    """The training loss is k times the evaluation loss, k a whole number of at least 2."""
    trained, judged = thirds(log.values("loss")), finite(log.values("eval_loss"))
    losses = finite(log.values("loss"))
    if not losses or not judged or judged[-1] <= 0.01:
        return None
    ratio = (trained[2] if trained else losses[-1]) / judged[-1]
    if ratio < 1.8 or abs(ratio - round(ratio)) > 0.12 * round(ratio):
        return None
    entry = log.series("eval_loss")[-1][0]
    proof = f"the last training losses are {ratio:.2f} times {said(entry, 'eval_loss')}"
    return Finding("loss_off_by_a_factor", 5.0, entry, (proof,))


def overfits(log: Log) -> Finding | None:
    """The evaluation loss ends above its lowest, by a tenth, while the training loss falls."""
    judged = [(e, v) for e, v in log.series("eval_loss") if math.isfinite(v)]
    losses = finite(log.values("loss"))
    if len(judged) < 3 or len(losses) < 3 or losses[-1] > 0.9 * losses[0]:
        return None
    best = min(range(len(judged)), key=lambda n: judged[n][1])
    (low, lowest), (last, now) = judged[best], judged[-1]
    if best == len(judged) - 1 or now < 1.1 * lowest:
        return None
    proof = (
        f"{said(low, 'eval_loss')} at {low.where} is the lowest; {now:.4g} at {last.where}",
        f"the training loss falls from {losses[0]:.4g} to {losses[-1]:.4g}",
    )
    return Finding("overfits", 6.5, judged[best + 1][0], proof)


def memorised(log: Log) -> Finding | None:
    """A supervised loss that sinks below 2e-3, not to 0."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    if log.kind() != "supervised" or len(series) < 3 or series[0][1] < 0.1:
        return None
    entry, last = series[-1]
    if not 0 < last < 2e-3:
        return None
    proof = f"the loss falls from {series[0][1]:.4g} to {last:.4g} at {entry.where}"
    return Finding("memorised", 6.0, entry, (proof,))


def flat(log: Log) -> Finding | None:
    """The loss does not move although gradients arrive."""
    losses = finite(log.values("loss"))
    norms = finite(log.values("grad_norm"))
    if log.kind() != "supervised" or len(losses) < 8 or not norms or max(norms) == 0:
        return None
    if min(map(abs, losses)) == 0 or spread(losses) > 0.005 * abs(losses[0]):
        return None
    entry = log.series("loss")[-1][0]
    rates = finite(log.values("learning_rate"))
    proof = [
        f"the loss stays between {min(losses):.4g} and {max(losses):.4g} in {len(losses)} entries, "
        f"with grad_norm up to {max(norms):.3g}"
    ]
    if rates:
        proof.append(f"learning_rate up to {max(rates):.2g}")
    return Finding("nothing_moves", 6.0, entry, tuple(proof))


def no_rate(log: Log) -> Finding | None:
    rates = finite(log.values("learning_rate"))
    is_verl = any(name.startswith("actor/") for name in log.entries[0].names.values())
    if len(rates) < 3 or max(rates) > 0 or is_verl:  # verl rounds 1e-6 to 0.000
        return None
    entry = log.series("learning_rate")[0][0]
    return Finding("rate_zero", 7.0, entry, (f"learning_rate 0 in all {len(rates)} entries",))


def rate_ends_early(log: Log) -> Finding | None:
    """A learning rate that was above 0 is exactly 0 in the last third of the entries or more."""
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v)]
    alive = [number for number, (_, rate) in enumerate(series) if rate > 0]
    is_verl = any(name.startswith("actor/") for name in log.entries[0].names.values())
    if len(series) < 6 or not alive or is_verl or len(series) - 1 - alive[-1] < len(series) / 3:
        return None
    entry = series[alive[-1] + 1][0]
    count = len(series) - 1 - alive[-1]
    proof = (
        f"{entry.where}: {said(entry, 'learning_rate')}, and 0 to the end ({count} of "
        f"{len(series)} entries)",
        f"it was up to {max(rate for _, rate in series):.2g}",
    )
    return Finding("schedule_ends_early", 7.0, entry, proof)


def loss_falls(log: Log) -> Finding | None:
    levels = trend(log.values("loss"))
    if levels is None or log.kind() == "policy" or not levels[0] > levels[2] > 0:
        return None
    proof = f"the loss falls: {listed(levels)} by thirds of the log"
    return Finding("improves", 2.0, log.series("loss")[-1][0], (proof,))


RULES = (
    labels_masked,
    turned_to_zero,
    climbing,
    large_rate,
    above_uniform,
    off_by_a_factor,
    overfits,
    memorised,
    flat,
    no_rate,
    rate_ends_early,
    loss_falls,
)
