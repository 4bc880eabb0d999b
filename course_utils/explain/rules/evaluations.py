"""An evaluation whose loss is nan: beside a training that is fine, that hides it, or alone."""

import math

from course_utils.explain.finding import Finding
from course_utils.explain.paste.entries import MAX_QUOTE
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said

WHICH = (
    "a mean over no label (all of them cut off or masked), or a forward pass that leaves the range "
    "of half precision; no rule tells which"
)
FEWEST, FALLS = 5, 0.8  # evaluations; of the first loss
COUNT_LABELS = "count the labels of one evaluation batch, and evaluate that batch in float32"


def hidden_in_training(log: Log) -> Finding | None:
    """The evaluation is nan, and the training loss is 0 throughout or its average nearly is."""
    entry = log.first("eval_loss", math.isnan)
    losses = log.values("loss")
    averaged = abs(log.summary.numbers.get("loss", 1.0)) if log.summary is not None else 1.0
    if entry is None or any(loss != 0 for loss in losses) or not (losses or averaged < 0.05):
        return None
    proof = [f"{entry.where}: {said(entry, 'eval_loss')}"]
    if averaged < 0.05:
        shown = said(log.summary, "loss")
        proof.append(f"{shown} sums up the run: a nan counts as 0 in it ({log.summary.where})")
    return Finding("nan_shown_as_zero", 5.5, entry, tuple(proof))


def evaluation_alone(log: Log) -> Finding | None:
    """Every evaluation is nan, and every loss of training, if any is logged, is a number."""
    judged, losses = log.series("eval_loss"), log.values("loss")
    if not judged or not all(math.isnan(value) for _, value in judged):
        return None
    if hidden_in_training(log) or not all(math.isfinite(loss) and loss for loss in losses):
        return None
    entry = judged[0][0]
    proof = [f"{said(entry, 'eval_loss')} in all {len(judged)} evaluations, first {entry.where}"]
    beside = "and no training loss is in the log"
    if losses:
        beside = "while training is fine"
        proof.append(f"all {len(losses)} losses of training are finite, the last {losses[-1]:.4g}")
    advice = COUNT_LABELS
    if log.chooses:
        stated = log.chooses.text.strip()[:MAX_QUOTE]
        proof.append(f"{log.chooses.where} says: {stated}: the best checkpoint is chosen by nan")
        advice += "; until then choose no checkpoint by eval_loss"
    why = f"the evaluation is nan {beside}: {WHICH}"
    return Finding("nan_metric", 6.5, entry, tuple(proof), why=why, advice=advice)


def stands_still(log: Log) -> Finding | None:
    """One accuracy in every evaluation, to the last digit, while the training loss falls."""
    judged, losses = log.series("eval_accuracy"), finite(log.values("loss"))
    if log.kind() != "supervised" or min(len(judged), len(losses)) < FEWEST:
        return None
    if len({value for _, value in judged}) > 1:
        return None
    (entry, value), fallen = judged[0], losses[-1] < FALLS * losses[0]
    if not fallen or not 0 < value < 1:
        return None
    proof = f"{said(entry, 'eval_accuracy')} in all {len(judged)} evaluations"
    more = f"the training loss falls from {losses[0]:.4g} to {losses[-1]:.4g}"
    return Finding("evaluation_stands_still", 6.6, entry, (proof, more))


RULES = (hidden_in_training, evaluation_alone, stands_still)
