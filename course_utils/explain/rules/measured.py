"""Metrics beside losses: at a guess, nothing right, apart from the loss, cut; and no run at all."""

import math
import re
from itertools import pairwise

from course_utils.explain.finding import LOOK, Finding
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, spread

FEW = 3  # evaluations
NEAR = 0.015  # of ln K: how far a loss may be from that of a guess
BY_CHANCE = 0.06  # of 1/K: how far the accuracy
MOST_CLASSES = 20
AT_A_GUESS = (
    "loss and accuracy stand where a guess among {k} answers stands (ln {k} = {guess:.3g}, "
    "1/{k} = {part:.2g}): nothing in the rows is used to tell them apart"
)
WHAT_GUESSES = (
    "read ten rows with their labels; then look whether weights move (rate, what is frozen), and "
    "whether the head gets the rows at all"
)
APART = (
    "the loss of the evaluation falls and its metric gets worse: the loss reads the right "
    "beginning of each text, the metric what the model writes by itself (texts that do not end, "
    "repeat themselves, or are decoded and compared in another form)"
)
NOTHING_RIGHT = (
    "nothing that the model writes is right in any evaluation: a CTC model that still writes "
    "blanks alone, texts that are cut or do not end, or labels that are decoded in another form; "
    "no rule tells which"
)
READ_IT = "print three predictions beside their labels, as the metric gets them"
PAIRS = (("eval_loss", "eval_accuracy"), ("loss", "accuracy"), ("loss", "eval_accuracy"))
SPEED = re.compile(r"train_runtime\W+(\d+(?:\.\d+)?)")


def at_a_guess(log: Log) -> Finding | None:
    """The loss stands at ln K, and the accuracy at 1/K."""
    for loss, right in PAIRS:
        losses, hits = finite(log.values(loss)), finite(log.values(right))
        if log.kind() != "supervised" or min(len(losses), len(hits)) < FEW:
            continue
        hits = [value / 100 for value in hits] if max(hits) > 1 else hits
        for k in range(2, MOST_CLASSES + 1):
            guess = math.log(k)
            is_level = all(abs(value / guess - 1) < NEAR for value in losses)
            if is_level and all(abs(value - 1 / k) < BY_CHANCE / k * 2 for value in hits):
                entry = log.series(loss)[-1][0]
                proof = (
                    f"{loss} between {min(losses):.4g} and {max(losses):.4g} in {len(losses)} "
                    f"entries; {right} between {min(hits):.3g} and {max(hits):.3g}"
                )
                why = AT_A_GUESS.format(k=k, guess=guess, part=1 / k)
                return Finding("at_chance", 5.5, entry, (proof,), why=why, advice=WHAT_GUESSES)
    return None


def never_says_it(log: Log) -> Finding | None:
    """F1, or recall, of exactly 0 in all evaluations beside a high accuracy."""
    zero, right = log.series("eval_f1"), finite(log.values("eval_accuracy"))
    if len(zero) < 2 or any(value != 0 for _, value in zero) or not right or min(right) <= 0.5:
        return None
    entry = zero[0][0]
    proof = (
        f"{said(entry, 'eval_f1')} in all {len(zero)} evaluations, beside an accuracy of "
        f"{right[-1]:.3g}"
    )
    why = (
        "the model never says the class that the metric counts: the accuracy is that of always "
        "saying the other one"
    )
    advice = "weights per class or more rows of the rare one, another threshold; count the labels"
    return Finding("one_class", 6.5, entry, (proof,), why=why, advice=advice)


def apart_from_its_loss(log: Log) -> Finding | None:
    """The evaluation's loss falls, and its error rate rises or is that of nothing right."""
    wrong, judged = log.series("eval_error"), finite(log.values("eval_loss"))
    rates = finite([value for _, value in wrong])
    if len(rates) < FEW or len(judged) < FEW:
        return None
    scale = 100.0 if max(rates) > 3 else 1.0
    entry = wrong[-1][0]
    proof = f"error rates {listed(tuple(rates[:6]))}; losses {listed(tuple(judged[:6]))}"
    if min(rates) >= 0.99 * scale and spread(rates) < 0.02 * scale:
        return Finding("nothing_right", LOOK, entry, (proof,), why=NOTHING_RIGHT, advice=READ_IT)
    if judged[-1] < 0.95 * judged[0] and rates[-1] > 1.1 * rates[0]:
        return Finding("metric_leaves_loss", 5.5, entry, (proof,), why=APART, advice=READ_IT)
    return None


def all_of_one_length(log: Log) -> Finding | None:
    """Generated texts have the same whole length in every evaluation: that of the limit."""
    series = log.series("eval_length")
    lengths = {value for _, value in series}
    if len(series) < 2 or len(lengths) > 1 or not min(lengths).is_integer() or min(lengths) < 2:
        return None
    entry = series[0][0]
    proof = f"{said(entry, 'eval_length')} in all {len(series)} evaluations, to the last digit"
    against = ("labels of one length give texts of one length, too",)
    return Finding("evaluation_cuts_replies", 4.5, entry, (proof,), against)


def nothing_left(log: Log) -> Finding | None:
    """A run whose summary has a loss of 0 after no time at all, and that logged no step."""
    entry = log.summary
    if entry is None or any("loss" in one.numbers and one is not entry for one in log.entries):
        return None
    took = SPEED.search(entry.text)
    if entry.numbers.get("loss") != 0 or took is None or float(took[1]) > 1:
        return None
    proof = f"{entry.where}: {said(entry, 'loss')} after {took[1]} s, and no step is in the log"
    return Finding("nothing_left", 7.0, entry, (proof,))


def below_without_end(log: Log) -> Finding | None:
    """A supervised loss that falls below 0 and on, twice as far and more."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    if log.kind() != "supervised" or len(series) < 4 or series[-1][1] >= 0:
        return None
    tail = [value for _, value in series[-4:]]
    if not all(later < 1.2 * value < 0 for value, later in pairwise(tail)):
        return None
    entry = next(e for e, v in series if v < 0)
    proof = f"{entry.where}: {said(entry, 'loss')}; the last four are {listed(tuple(tail))}"
    return Finding("loss_unbounded", 5.0, entry, (proof,))


def correlation_of_nothing(log: Log) -> Finding | None:
    """The correlation of an evaluation is nan: one of its two sides is constant.

    Before it has learnt anything a model may give every row the same score.
    """
    series = log.series("eval_correlation")
    began = next((number for number, (_, v) in enumerate(series) if math.isfinite(v)), 0)
    bad = [entry for entry, value in series[began:] if math.isnan(value)]
    if not bad:
        return None
    proof = f"{said(bad[0], 'eval_correlation')} in {len(bad)} of {len(series)} evaluations"
    why = (
        "a correlation is nan where one of its sides is constant: all scores are the same (or "
        "nan), as of a model whose vectors have collapsed or broken"
    )
    advice = "the scores of ten pairs, and whether the weights are finite"
    return Finding("nan_metric", 6.0, bad[0], (proof,), why=why, advice=advice)


RULES = (
    at_a_guess,
    never_says_it,
    apart_from_its_loss,
    all_of_one_length,
    nothing_left,
    below_without_end,
    correlation_of_nothing,
)
