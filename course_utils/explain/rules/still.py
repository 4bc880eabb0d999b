"""Values that should move and do not: losses, evaluations, gradients, to the last digit."""

import math
from itertools import pairwise
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, share, spread, thirds, trend

SMALL_RATE = 1e-5  # below it a step is lost in most weights of bfloat16
FEW_ALIVE, ORDINARY = 3, 0.01  # entries of each kind; a norm
LEARNT = 0.05  # a loss below it leaves next to nothing to learn
CUT_OFF = (
    "no gradient arrives any more, from one entry to the next: what is trained was cut off from "
    "the loss there (frozen, replaced, or no longer used), and nothing is learnt after it",
    "look at what ran just before it (a save, a conversion of the adapter, an evaluation): "
    "requires_grad of the trained weights before and after it; go on from the last checkpoint "
    "before it, without that step or with a version of the library in which it leaves them alone",
)
JUMPED, ROSE = 10.0, 2.5  # times the usual norm; times the lowest loss
DIED = (
    "the run diverged: the gradients jumped, the loss climbed far above its best, and the model "
    "that is left is so far off that its gradient is 0; steps that are too long do that",
    "a tenth of the learning rate, from the start or from a checkpoint before the norms jumped; a "
    "longer warm-up, a larger batch, clipping to a norm of 1",
)
AGAIN = 5  # losses of four digits that come again: not by chance
NO_RATE_OF_A_RUN = 1e-7  # supervised: below it a loss that is flat has its reason


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
    if rates and 0 < max(rates) < NO_RATE_OF_A_RUN:
        return Finding("rate_too_low", 6.5, entry, tuple(proof))
    return Finding("nothing_moves", 6.0, entry, tuple(proof))


def no_gradient_at_all(log: Log) -> Finding | None:
    """grad_norm exactly 0 beside a loss that is not: nothing is trained."""
    series = log.series("grad_norm")
    dead = [entry for entry, norm in series if norm == 0 and _costs(entry)]
    if log.kind() == "policy" or len(dead) < 2 or share(dead, series) < 0.9:
        return None
    counted = f"{len(dead)} of {len(series)} entries: {said(dead[0], 'grad_norm', 'loss')}"
    return Finding("no_gradient", 7.5, dead[0], (counted,))


def cut_off(log: Log) -> Finding | None:
    """grad_norm is exactly 0 from some entry on, after ordinary ones, though the rate is not."""
    series = [(e, v) for e, v in log.series("grad_norm") if math.isfinite(v)]
    alive = [number for number, (_, norm) in enumerate(series) if norm > 0]
    dead = [entry for entry, _ in series[alive[-1] + 1 :]] if alive else []
    if len(alive) < FEW_ALIVE or len(dead) < FEW_ALIVE or len(alive) + len(dead) < len(series):
        return None
    last, norm = series[alive[-1]]
    if diverged := _faded(log, [series[number] for number in alive], dead[0]):
        return diverged
    if norm < ORDINARY or not all(_has_to_learn(entry, log.kind()) for entry in dead):
        return None
    turned = dead[0]
    shown = [name for name in ("loss", "learning_rate") if name in turned.numbers]
    proof = [
        f"{turned.where}: grad_norm 0 beside {said(turned, *shown)}, and 0 to the end",
        f"before it, {last.where}: {said(last, 'grad_norm')}",
    ]
    judged = [(e, v) for e, v in log.series("eval_loss") if log.is_after(e, last)]
    if len(judged) > 1 and len({value for _, value in judged}) == 1:
        places = f"{judged[0][0].where} and {judged[-1][0].where}"
        proof.append(f"{said(judged[0][0], 'eval_loss')} at {places}, the same to the last digit")
    why, advice = CUT_OFF
    return Finding("no_gradient", 7.2, turned, tuple(proof), why=why, advice=advice)


def _faded(log: Log, alive: list[tuple[Entry, float]], dead: Entry) -> Finding | None:
    """A gradient of 0 behind norms far above the usual and a loss that has risen several times."""
    usual = median(norm for _, norm in alive[: max(FEW_ALIVE, len(alive) // 3)])
    wild = [(entry, norm) for entry, norm in alive if norm > JUMPED * usual]
    before = [(e, v) for e, v in log.series("loss") if 0 < v < math.inf and log.is_after(dead, e)]
    if not wild or not before or log.kind() == "policy":
        return None
    low, lowest = min(before, key=lambda pair: pair[1])
    if dead.numbers.get("loss", 0.0) < ROSE * lowest:
        return None
    (first, _), (worst, highest) = wild[0], max(wild, key=lambda pair: pair[1])
    proof = [
        f"grad_norm is {usual:.3g} at first, {said(first, 'grad_norm')} at {first.where}, "
        f"{highest:.4g} at {worst.where}, and fades to 0 at {dead.where}",
        f"{said(low, 'loss')} at {low.where}, {said(dead, 'loss')} at {dead.where}",
    ]
    if rates := finite(log.values("learning_rate")):
        proof.append(f"learning_rate up to {max(rates):.2g}")
    why, advice = DIED
    return Finding("rate_too_high", 7.2, first, tuple(proof), why=why, advice=advice)


def _has_to_learn(entry: Entry, kind: str) -> bool:
    """Whether there is a rate, and something that a gradient could come from."""
    if not entry.numbers.get("learning_rate", 0.0) > 0:
        return False
    if kind == "policy":
        is_tied = entry.numbers.get("zero_std_share", 0.0) > 0.95
        has_advantage = entry.numbers.get("advantage_max", 1.0) > 0
        return entry.numbers.get("reward_std", 0.0) > 0 and has_advantage and not is_tied
    return _costs(entry) and abs(entry.numbers["loss"]) > LEARNT


def _costs(entry: Entry) -> bool:
    loss = entry.numbers.get("loss", 0.0)
    return math.isfinite(loss) and loss != 0


def repeats(log: Log) -> Finding | None:
    """The same numbers come again, to the last digit: the same rows, and the same weights."""
    return _losses_again(log) or _evaluations_again(log)


def _losses_again(log: Log) -> Finding | None:
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v) and v]
    losses = [loss for _, loss in series]
    if log.kind() == "policy" or len(losses) < 8 or len(set(losses)) < 2 or not _is_fine(losses):
        return None
    for period in range(1, len(losses) - AGAIN + 1):
        if losses[period:] == losses[:-period] and len(set(losses[period:])) >= min(period, AGAIN):
            entry = series[period][0]
            proof = (
                f"{entry.where}: {said(entry, 'loss')}, the same to the last digit as "
                f"{series[0][0].where}, and so on every {period} entries to the end"
            )
            return Finding("weights_do_not_move", 7.0, entry, (proof, *_but_gradients(log)))
    return None


def _evaluations_again(log: Log) -> Finding | None:
    series = [(e, v) for e, v in log.series("eval_loss") if math.isfinite(v) and v]
    judged = [value for _, value in series]
    if len(judged) < 3 or len(set(judged)) > 1 or not _is_fine(judged):
        return None
    entry = series[-1][0]
    proof = f"{said(entry, 'eval_loss')} in all {len(judged)} evaluations, to the last digit"
    return Finding("weights_do_not_move", 7.0, entry, (proof, *_but_gradients(log)))


def one_answer(log: Log) -> Finding | None:
    """The accuracy of every evaluation is the same, to the digit, and the losses differ."""
    hits = "eval_accuracy" if log.values("eval_accuracy") else "accuracy"
    both = [e for e in log.entries if {hits, "eval_loss"} <= e.numbers.keys()]
    right = {entry.numbers[hits] for entry in both}
    judged = [entry.numbers["eval_loss"] for entry in both]
    levels = thirds(log.values("loss"))
    if log.kind() != "supervised" or len(both) < 4 or len(right) > 1 or levels is None:
        return None
    if len(set(judged)) < (4 if _is_fine(judged) else 2):
        return None
    if levels[2] < 0.9 * levels[0] or min(right) in (1.0, 100.0):
        return None
    proof = (
        f"{said(both[0], hits)} in all {len(both)} evaluations, while their losses "
        f"differ: {min(judged):.4g} to {max(judged):.4g}",
        f"the training loss by thirds of the log: {listed(levels)}",
    )
    return Finding("one_class", 6.0, both[0], proof)


def _but_gradients(log: Log) -> tuple[str, ...]:
    norms = finite(log.values("grad_norm"))
    return (f"gradients arrive: grad_norm up to {max(norms):.3g}",) if any(norms) else ()


def _is_fine(values: list[float]) -> bool:
    """Whether the numbers have four digits or more, so that chance makes no two alike."""
    return median(len(f"{abs(value):.10g}".replace(".", "").strip("0")) for value in values) >= 4


def norm_repeats(log: Log) -> Finding | None:
    """grad_norm is one odd number, to the last digit, in four entries running."""
    series = [(e, v) for e, v in log.series("grad_norm") if math.isfinite(v)]
    for start in range(len(series) - 3):
        run = series[start : start + 4]
        norm = run[0][1]
        if all(a[1] == b[1] for a, b in pairwise(run)) and norm and _is_fine([norm]):
            if abs(norm - round(norm, 1)) < 1e-3 * norm:  # clipped to a round number
                continue
            entry = run[0][0]
            proof = f"{entry.where}: {said(entry, 'grad_norm')}, and the same in the next three"
            return Finding("numbers_broken", 6.0, entry, (proof,))
    return None


def rounded_away(log: Log) -> Finding | None:
    """Every grad_norm is a number of bfloat16, the rate is tiny, and nothing improves."""
    series = [(e, v) for e, v in log.series("grad_norm") if math.isfinite(v) and v]
    norms, rates = {norm for _, norm in series}, finite(log.values("learning_rate"))
    if len(norms) < 6 or not rates or not 0 < max(rates) <= SMALL_RATE:
        return None
    if not all(map(_in_bfloat16, norms)) or all(norm == round(norm, 1) for norm in norms):
        return None
    if any(_improves(log, name, sign) for name, sign in (("loss", -1), ("reward", 1))):
        return None
    entry = series[0][0]
    proof = (
        f"all {len(norms)} values of grad_norm have 8 bits, such as {series[0][1]:.8g} at "
        f"{entry.where}: the weights and their gradients are in bfloat16",
        f"learning_rate up to {max(rates):.2g}: a step of that size moves no weight above "
        f"{256 * max(rates):.2g}; all others round back",
    )
    against = ("an adapter that begins at 0 moves all the same",)
    return Finding("rounding_swallows", 5.0, entry, proof, against)


def _in_bfloat16(value: float) -> bool:
    """Whether a number has 8 significant bits or fewer.

    >>> _in_bfloat16(17.75), _in_bfloat16(17.19)
    (True, False)
    """
    return (math.frexp(value)[0] * 256).is_integer()


def _improves(log: Log, name: str, sign: int) -> bool:
    levels = trend(log.values(name))
    return (
        levels is not None
        and sign * (levels[2] - levels[0]) > 0
        and (name == "reward" or log.kind() != "policy")
    )


RULES = (flat, no_gradient_at_all, cut_off, repeats, one_answer, norm_repeats, rounded_away)
