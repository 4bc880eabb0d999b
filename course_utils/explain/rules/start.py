"""A loss that is wrong from the first step: above a guess, at a guess, or broken by one step."""

import math
from itertools import pairwise
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said

UNIFORM = 12.5  # ln of a vocabulary of 262,144 is 12.48; a guess costs no more
VOCABULARIES = {
    32000: "Llama 2 and Mistral",
    50257: "GPT-2",
    128256: "Llama 3",
    151936: "Qwen",
    256000: "Gemma",
    262144: "Gemma 3",
}
BLIND = 1e-3  # of the tokens are right: no pretrained model is that bad
SMALL_RATE = 1e-6
DENORMAL = 1e-30


def above_uniform(log: Log) -> Finding | None:
    """The first losses are above ln(vocabulary): before an update, or with huge gradients."""
    if log.kind() != "supervised":
        return None
    series = [(e, v) for e, v in log.series("loss") if not math.isnan(v)][:5]
    if not series or not min(loss for _, loss in series) > UNIFORM:
        return None
    if any(judged < UNIFORM for judged in log.values("eval_loss")):
        return None  # the evaluation shows that the weights fit: the loss has another scale
    entry, loss = series[0]
    norms = finite(log.values("grad_norm"))[:5]
    step, rate = entry.numbers.get("step"), entry.numbers.get("learning_rate", 1.0)
    is_first = rate == 0 or (step is not None and step <= 1)
    hits = log.values("token_accuracy")[:5]
    is_blind = len(series) >= 3 and len(hits) >= 3 and max(hits) < BLIND
    is_steep = len(series) > 1 and norms and median(norms) >= 1000 and loss < 100
    if not (is_steep or is_blind or (is_first and loss > 100)):
        return None
    shown = ("loss", "token_accuracy", "grad_norm", "learning_rate")
    shown = [name for name in shown if name in entry.numbers]
    proof = [f"{entry.where}: {said(entry, *shown)}"]
    if is_first:
        proof.append("no update stands before it: training did not make it")
    if is_blind:
        return Finding("guesses", 6.5, entry, (*proof, f"no token is right: up to {max(hits):.2g}"))
    return Finding("above_uniform", 8.5 if loss > 100 else 6.5, entry, tuple(proof))


def at_uniform(log: Log) -> Finding | None:
    """The loss ends where guessing among all tokens of a known vocabulary stands."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    if log.kind() != "supervised" or len(series) < 4:
        return None
    tail = [loss for _, loss in series[-max(3, len(series) // 3) :]]
    for size, whose in VOCABULARIES.items():
        if all(abs(loss - math.log(size)) < 0.03 for loss in tail):
            entry = series[-len(tail)][0]
            proof = (
                f"{entry.where}: {said(entry, 'loss')}, and to the end between {min(tail):.4g} and "
                f"{max(tail):.4g}",
                f"ln({size}) is {math.log(size):.4g}: a guess among the tokens of {whose}",
            )
            return Finding("guesses", 6.0, entry, proof)
    return None


def broken_by_one_step(log: Log) -> Finding | None:
    """The loss jumps by more than 3 within an entry, at a rate too small for that."""
    if log.kind() != "supervised":
        return None
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    for (before, low), (entry, high) in pairwise(series[:20]):
        rate = entry.numbers.get("learning_rate")
        if rate is not None and 0 < rate <= SMALL_RATE and high > max(low + 3, 2 * low) > 0:
            proof = (
                f"{before.where}: {said(before, 'loss')}; {entry.where}: "
                f"{said(entry, 'loss', 'learning_rate')}"
            )
            return Finding("step_breaks_weights", 6.5, entry, (proof,))
    return None


def too_small_to_be(log: Log) -> Finding | None:
    """A loss above 0 and below 1e-30: memory that was never written, not a loss."""
    for name in ("loss", "eval_loss"):
        entry = log.first(name, lambda value: 0 < abs(value) < DENORMAL)
        if entry is not None:
            proof = f"{entry.where}: {said(entry, name)}, a number that no model's loss is"
            return Finding("numbers_broken", 7.5, entry, (proof,))
    return None


RULES = (above_uniform, at_uniform, broken_by_one_step, too_small_to_be)
