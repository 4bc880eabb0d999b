"""Losses of any run: 0, climbing, flat, wrong by a factor, memorised, falling."""

import math
import re
from statistics import fmean, median

from course_utils.explain.finding import LOOK, Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, place
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, share, thirds, trend
from course_utils.explain.rules.one_candidate import OF_THE_BATCH

WHOLE = 0.07  # of a whole number: how far a ratio of two losses may be from it
HIGH_RATE, ROSE = 2e-4, 1.25  # a rate; times the loss of the first entry
RISES_WITH_RATE = "the loss rises while the learning rate warms up"
A_NAT = 1.0  # of an evaluation loss: more than rounding or other rows make
FAR = 1.3  # times the lowest loss
LONG = 6  # entries in which a run has gone well
_BEGUN_AGAIN = re.compile(
    r"\b(?:pods?|nodes?|jobs?|runs?|trainer|workers?|hosts?|machines?|gpus?)\b[^.?]{0,60}\b(?:re-?schedul|"
    r"drained|preempt|evict|migrat|moved|replaced|re-?start|re-?queued|swapped)\w*|"
    r"\b(?:came back|restarted|resumed|continued|picked up|relaunched|restored)\b[^.?]{0,30}"
    r"\b(?:from|checkpoint|ckpt)\b",
    re.IGNORECASE,
)
MISSES = 0.1  # an accuracy
SOON = 3  # entries after a resume, in which what it left behind shows
NOT_RESTORED = (
    "the loss climbs where the run was resumed, at the rate of before: something was not restored, "
    "and no rule tells what (the optimizer's moments, the scaler, the place in the data)"
)
_OF_A_STEP = {"learning_rate", "grad_norm"}, {"step", "epoch"}
_OR_BROKEN = "weights that broke in one step give a loss of 0 as well: look whether they are finite"


def labels_masked(log: Log, beside: Beside) -> Finding | None:
    """A supervised loss of 0 (or nan) from the first entry on, without a gradient.

    A loss over candidates has no labels of tokens that could be masked.
    """
    series = log.series("loss")
    if log.kind() != "supervised" or not series or _stands_alone(series):
        return None
    dead = [entry for entry, loss in series if loss == 0 or math.isnan(loss)]
    norm = dead[0].numbers.get("grad_norm", 0.0) if dead else 0.0
    if dead and math.isnan(dead[0].numbers["loss"]) and "grad_norm" not in dead[0].numbers:
        return None  # of a nan without a gradient of 0 the log does not show the reason
    if not dead or dead[0] is not series[0][0] or share(dead, series) < 0.9 or norm != 0:
        return None
    if any(math.isnan(value) for value in log.values("grad_norm")) and not all(
        math.isnan(entry.numbers["loss"]) for entry in dead
    ):
        return None  # a zero that hides a nan
    if beside.matching(OF_THE_BATCH):
        return None
    if any(skip.scale <= 1 for skip in log.skips) and "grad_norm" not in dead[0].numbers:
        return None  # no step was taken: the nan of an overflow, which the Trainer leaves out
    shown = [name for name in ("loss", "grad_norm") if name in dead[0].numbers]
    proof = f"{len(dead)} of {len(series)} entries, from the first on: {said(dead[0], *shown)}"
    is_nan = math.isnan(dead[0].numbers["loss"])
    is_hidden = "grad_norm" not in dead[0].numbers and bool(_judged_nan(log))
    weight = 4.0 if is_nan or is_hidden else 6.5
    return Finding("labels_masked", weight, dead[0], (proof,))


def _stands_alone(series: list[tuple[Entry, float]]) -> bool:
    """A single loss with no other number beside it, which may be of anything."""
    return len(series) == 1 and len(series[0][0].numbers) == 1 and not series[0][0].sums_up


def zero_or_hidden_nan(log: Log) -> Finding | None:
    """A loss of 0 in every entry, and no grad_norm to tell a masked one from a hidden nan."""
    series = log.series("loss")
    if log.kind() != "supervised" or not series or "grad_norm" in log.fields:
        return None
    if _stands_alone(series):
        return None
    if any(loss != 0 for _, loss in series):
        return None
    entry, judged = series[0][0], log.values("eval_loss")
    proof = [f"{said(entry, 'loss')} in all {len(series)} entries, and no grad_norm is logged"]
    if judged and math.isnan(judged[-1]):
        proof.append(f"{said(log.series('eval_loss')[-1][0], 'eval_loss')}: it is not filtered")
    weight = 7.5 if len(proof) > 1 else 5.5
    return Finding("nan_shown_as_zero", weight, entry, tuple(proof))


def turned_to_zero(log: Log) -> Finding | None:
    """A supervised loss that becomes exactly 0 from one entry to the next, and stays there.

    Without a gradient the rows may have no label; beside one the numbers are broken.
    """
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
    if norm == 0:
        return Finding("labels_masked", 6.0, turned, tuple(proof), (_OR_BROKEN,))
    if not log.values("grad_norm") and (judged := _judged_nan(log)):
        if rises := _rises_with_rate(series[: alive[-1] + 1]):
            why = f"{RISES_WITH_RATE}; then it is nan, which the log shows as 0"
            return Finding("rate_too_high", 7.5, turned, (*rises, *proof, judged), why=why)
        return Finding("nan_shown_as_zero", 6.5, turned, (*proof, judged))
    norms = log.values("grad_norm")
    if norms and not any(norms):
        return None  # nothing was ever learnt, and a 0 behind it is another number
    if len(norms) > 1 and len(set(norms)) == 1 and norm:
        of, _ = log.series("grad_norm")[0]  # the entry that turned may have none
        proof.append(f"{said(of, 'grad_norm')} in all {len(norms)} entries, to the last digit")
    return Finding("numbers_broken", 6.5, turned, tuple(proof))


def _rises_with_rate(series: list[tuple[Entry, float]]) -> tuple[str, ...]:
    """The entries in which the loss goes up while the rate warms up, to a rate that is high."""
    rated = [(e, loss) for e, loss in series if "learning_rate" in e.numbers]
    if len(rated) < 3:
        return ()
    (first, low), (top, high) = rated[0], max(rated[1:4], key=lambda pair: pair[1])
    rates = [one.numbers["learning_rate"] for one in (first, top)]
    if not (rates[1] > rates[0] and rates[1] >= HIGH_RATE and high > ROSE * low):
        return ()
    return tuple(f"{one.where}: {said(one, 'loss', 'learning_rate')}" for one in (first, top))


def _judged_nan(log: Log) -> str:
    """An evaluation that is nan, which no filter turns to 0; else ""."""
    found = (e for e in log.entries if math.isnan(e.numbers.get("eval_loss", 0.0)))
    return next((f"{said(e, 'eval_loss')} at {e.where} is not filtered" for e in found), "")


def climbing(log: Log, beside: Beside) -> Finding | None:
    """A finite loss that ends far above its best; the entry is the one where it jumps."""
    series = _of_training([(e, v) for e, v in log.series("loss") if math.isfinite(v)])
    levels = thirds([value for _, value in series])
    if levels is None or log.kind() == "policy":
        return None
    best, low = min(levels[:2]), _lowest(series)
    is_far = levels[2] >= 1.5 * best or (levels[2] >= FAR * low and levels[2] - low >= A_NAT)
    best = best if levels[2] >= 1.5 * best else low
    if not is_far or levels[2] - best < 0.3 or max(abs(v) for _, v in series) > 1e6:
        return None
    middle = (best + levels[2]) / 2
    above = len(series)
    while above > 1 and series[above - 1][1] > middle:
        above -= 1
    if above == len(series):
        return None  # it ends below the middle, however high single losses were
    before, jump = series[above - 1][0], series[above][0]
    if _is_judged_better(log, jump):
        return None
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
    if at_resume := _resumed_before(log, [entry for entry, _ in series], jump):
        proof = [at_resume, *proof]
        return Finding("resumed_without_state", 6.0, jump, tuple(proof), why=NOT_RESTORED)
    if not rates and not norms and _moved_before(log, jump, beside):
        return None  # what else changed there may have done it, and no rate is shown
    return Finding("rate_too_high", 6.0, jump, tuple(proof))


def _lowest(series: list[tuple[Entry, float]]) -> float:
    """The lowest loss before the last third of a log, each the middle one of three."""
    values = [value for _, value in series[: -(len(series) // 3)]]
    return min((median(values[n : n + 3]) for n in range(len(values) - 2)), default=values[0])


def _of_training(series: list[tuple[Entry, float]]) -> list[tuple[Entry, float]]:
    """Without what is pasted beside them: in a run whose entries have rates, or steps, those that
    have none are losses of another run, or of a model that was loaded again."""
    for names in _OF_A_STEP:
        told = [(e, loss) for e, loss in series if names & e.numbers.keys()]
        if 2 * len(told) > len(series):
            return told
    return series


def _is_judged_better(log: Log, jump: Entry) -> bool:
    """Whether the last evaluation, behind the jump, is the best: the loss of training is then
    another one than before (a term that is weighed in, harder rows), and nothing was forgotten."""
    at = log.entries.index(jump)
    before, after = (
        finite([one.numbers.get("eval_loss", math.nan) for one in part])
        for part in (log.entries[:at], log.entries[at:])
    )
    return bool(before and after) and after[-1] < min(before) and after[-1] == min(after)


def _moved_before(log: Log, jump: Entry, beside: Beside) -> bool:
    """Whether sentences tell that a run which had long gone well was begun again elsewhere, or
    from a checkpoint, before its loss jumps."""
    calm = [e for e, v in log.series("loss") if place(e) < place(jump) and math.isfinite(v)]
    return len(calm) >= LONG and beside.matching(_BEGUN_AGAIN) is not None


def _resumed_before(log: Log, entries: list[Entry], jump: Entry) -> str:
    """The line that says that the run was resumed just before a jump, at the same rate; else ""."""
    after, line = log.resumed_after or (None, None)
    if after is None or after not in entries:
        return ""
    now = entries.index(jump)
    rates = [one.numbers.get("learning_rate", 0.0) for one in (after, jump)]
    if not 0 < now - entries.index(after) <= SOON or rates[1] > 1.1 * rates[0]:
        return ""
    return f"{line.where} says: {line.text[:MAX_QUOTE]}"


def off_by_a_factor(log: Log, beside: Beside) -> Finding | None:
    """The training loss is k times the loss of each evaluation, k a whole number of at least 2."""
    ratios, last = [], math.nan
    for one in log.entries:
        last = one.numbers.get("loss", last)
        if (judged := one.numbers.get("eval_loss", math.nan)) > 0.01 and not math.isnan(last):
            ratios.append((last / judged, one))
    if beside.matching(OF_THE_BATCH):
        return None  # ln(rows of a batch) is what a guess costs, and those of an evaluation differ
    wholes = {round(ratio) if math.isfinite(ratio) else 0 for ratio, _ in ratios}
    if len(wholes) != 1 or min(wholes) < 2:
        return None
    ratio, entry = ratios[-1]
    if abs(ratio - round(ratio)) > WHOLE * round(ratio):
        return None
    proof = f"the training loss is {ratio:.2f} times {said(entry, 'eval_loss')}"
    return Finding("loss_off_by_a_factor", 5.0, entry, (proof,))


def overfits(log: Log) -> Finding | None:
    """The evaluation loss ends a tenth above its lowest, while the training loss falls below it."""
    judged = [(e, v) for e, v in log.series("eval_loss") if math.isfinite(v)]
    losses = finite(log.values("loss"))
    if len(judged) < 3 or len(losses) < 3 or losses[-1] > 0.9 * losses[0]:
        return None
    best = min(range(len(judged)), key=lambda n: judged[n][1])
    (low, lowest), (last, now) = judged[best], judged[-1]
    if jump := _without_training(log):
        return jump
    if _misses_all(log, lowest):
        return None
    if best == len(judged) - 1 or now < max(1.1 * lowest, fmean(losses[-len(losses) // 3 :])):
        return None
    proof = (
        f"{said(low, 'eval_loss')} at {low.where} is the lowest; {now:.4g} at {last.where}",
        f"the training loss falls from {losses[0]:.4g} to {losses[-1]:.4g}",
    )
    return Finding("overfits", LOOK, judged[best + 1][0], proof)


def _misses_all(log: Log, lowest: float) -> bool:
    """Whether the evaluation is worse than a guess among as many classes as it would take for its
    accuracy: what is learnt by heart costs no more than that, so that the labels are others."""
    hits = finite(log.values("eval_accuracy") or log.values("accuracy"))
    return bool(hits) and 0 < max(hits) < MISSES and lowest > -math.log(max(hits))


def _without_training(log: Log) -> Finding | None:
    """An evaluation by hand is far worse than the one before, and no training is between them."""
    entries = [e for e in log.entries if e.numbers.keys() & {"eval_loss", "loss"}]
    if any("loss" in one.numbers for one in entries[-2:]) or "epoch" in entries[-1].numbers:
        return None
    before, after = entries[-2:]
    if after.numbers["eval_loss"] < before.numbers["eval_loss"] + A_NAT:
        return None
    proof = (
        f"{said(before, 'eval_loss')} at {before.where}, {said(after, 'eval_loss')} at "
        f"{after.where}, and no training between them"
    )
    return Finding("merged_not_equal", 6.5, after, (proof,))


def memorised(log: Log) -> Finding | None:
    """A supervised loss that sinks below 2e-3, not to 0."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    if log.kind() != "supervised" or len(series) < 3 or series[0][1] < 0.1:
        return None
    entry, last = series[-1]
    if not 0 < last < 2e-3:
        return None
    proof = f"the loss falls from {series[0][1]:.4g} to {last:.4g} at {entry.where}"
    return Finding("memorised", LOOK, entry, (proof,))


def loss_falls(log: Log) -> Finding | None:
    levels = trend(log.values("loss"))
    if levels is None or log.kind() == "policy" or not levels[0] > levels[2] > 0:
        return None
    proof = f"the loss falls: {listed(levels)} by thirds of the log"
    return Finding("improves", 2.0, log.series("loss")[-1][0], (proof,))


RULES = (
    zero_or_hidden_nan,
    turned_to_zero,
    overfits,
    memorised,
    loss_falls,
)
RULES_OF_SETTINGS = (labels_masked, off_by_a_factor, climbing)
