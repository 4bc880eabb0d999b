"""Losses of any run: 0, climbing, flat, off by a factor, falling."""

import math

from course_utils.explain.finding import Finding
from course_utils.explain.log import Log, finite
from course_utils.explain.numbers import said, share, spread, thirds


def labels_masked(log: Log) -> Finding | None:
    """A supervised loss of 0 (or nan) from the first entry on."""
    series = log.series("loss")
    if log.kind() != "supervised" or not series:
        return None
    dead = [entry for entry, loss in series if loss == 0 or math.isnan(loss)]
    if not dead or dead[0] is not series[0][0] or share(dead, series) < 0.9:
        return None
    norm = dead[0].numbers.get("grad_norm")
    proof = [f"{len(dead)} of {len(series)} entries, from the first on: {said(dead[0], 'loss')}"]
    against = []
    if norm is not None and math.isnan(norm):
        proof.append(f"{said(dead[0], 'grad_norm')} in the first entry")
        against.append("nan weights at the start would look the same")
    elif norm:
        against.append(f"{said(dead[0], 'grad_norm')} is not 0")
    return Finding("labels_masked", 6.5 if not norm else 4.0, dead[0], tuple(proof), tuple(against))


def turned_to_zero(log: Log) -> Finding | None:
    """A supervised loss that becomes exactly 0 on the way, and stays there."""
    series = log.series("loss")
    alive = [number for number, (_, loss) in enumerate(series) if loss != 0]
    if log.kind() != "supervised" or not alive or len(series) - alive[-1] < 3:
        return None
    before, turned = series[alive[-1]][0], series[alive[-1] + 1][0]
    if not math.isfinite(turned.numbers.get("grad_norm", 0.0)):
        return None
    shown = [name for name in ("loss", "grad_norm") if name in turned.numbers]
    proof = f"{turned.where}: {said(turned, *shown)}, and 0 to the end"
    against = f"the labels were there before: {before.where}: {said(before, 'loss')}"
    return Finding("labels_masked", 4.0, turned, (proof,), (against,))


def climbing(log: Log) -> Finding | None:
    """A finite loss that ends far above its start or its best."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    levels = thirds([value for _, value in series])
    if levels is None or log.kind() == "policy":
        return None
    best = min(levels[:2])
    if levels[2] < 1.5 * best or levels[2] - best < 0.3 or max(map(abs, levels)) > 1e6:
        return None
    worst = max(series, key=lambda pair: pair[1])[0]
    proof = [f"the loss by thirds of the log: {', '.join(f'{level:.3g}' for level in levels)}"]
    norms = thirds(log.values("grad_norm"))
    if norms and norms[2] > 1.5 * min(norms[:2]):
        proof.append(f"grad_norm with it: {', '.join(f'{norm:.3g}' for norm in norms)}")
    rates = finite(log.values("learning_rate"))
    if rates:
        proof.append(f"learning_rate up to {max(rates):.2g}")
    return Finding("rate_too_high", 6.0, worst, tuple(proof))


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
    if len(rates) < 3 or max(rates) > 0:
        return None
    entry = log.series("learning_rate")[0][0]
    return Finding("nothing_moves", 7.0, entry, (f"learning_rate 0 in all {len(rates)} entries",))


def loss_falls(log: Log) -> Finding | None:
    levels = thirds(log.values("loss"))
    if levels is None or log.kind() == "policy" or not levels[0] > levels[2] > 0:
        return None
    if not all(map(math.isfinite, log.values("loss") + log.values("grad_norm"))):
        return None
    proof = f"the loss falls: {', '.join(f'{level:.3g}' for level in levels)} by thirds of the log"
    return Finding("improves", 2.0, log.series("loss")[-1][0], (proof,))


RULES = (labels_masked, turned_to_zero, climbing, off_by_a_factor, flat, no_rate, loss_falls)
