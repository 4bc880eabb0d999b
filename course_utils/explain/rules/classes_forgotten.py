"""A classifier that had begun to learn, and then says one thing of all: `rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said

_NUM_CLASSES = re.compile(r"\b(?:num_labels|num_classes|n_classes)\W{1,3}(?P<n>\d+)\b", re.I)
FEWEST, BELOW, NEAR, CHANCE = 4, 0.1, 0.03, 0.02  # entries; of ln K; around it; of an accuracy
HIGH = 3e-5  # a rate that large encoders often do not bear
FORGOTTEN = (
    "the classifier had begun to learn and then lost it: the loss climbs to ln {n} = {level:.4g}, "
    "what equal chances of {n} classes give, and stays, and the accuracy is that of chance. Steps "
    "of {rate:.2g} are too long for this model, so that it says the same of every row"
)
SHORTER = (
    "1e-5 to 2e-5, warmed up over a tenth of the steps, from the pretrained weights anew: those of "
    "this run do not come back; labels and checkpoint are not shown to be at fault"
)


def classes_forgotten(log: Log, beside: Beside) -> Finding | None:
    """A first loss below ln K, all later ones at ln K, an accuracy of 1 / K, and a high rate."""
    classes = beside.first(_NUM_CLASSES)
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    hits, rates = finite(log.values("eval_accuracy")), finite(log.values("learning_rate"))
    if classes is None or len(series) <= FEWEST or not hits or not rates or max(rates) < HIGH:
        return None
    number = int(classes[1]["n"])
    level = math.log(number) if number > 1 else math.inf
    (first, began), *later = series
    if began > level - BELOW or any(abs(loss - level) > NEAR for _, loss in later):
        return None
    if any(abs(hit - 1 / number) > CHANCE for hit in hits):
        return None
    turned, after = later[0][0], [loss for _, loss in later]
    proof = (
        f"{first.where}: {said(first, 'loss')}; from {turned.where} on {min(after):.4g} to "
        f"{max(after):.4g}",
        f"eval_accuracy {hits[-1]:.3g}, one of {number} classes",
        f"learning_rate up to {max(rates):.2g}",
    )
    why = FORGOTTEN.format(n=number, level=level, rate=max(rates))
    return Finding("rate_too_high", 7.6, turned, proof, why=why, advice=SHORTER)


RULES_OF_SETTINGS = (classes_forgotten,)
