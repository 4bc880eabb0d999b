"""Losses of Sentence Transformers that read other rows than they are given."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log, finite

_RANKING = re.compile(r"\b(?:Cached)?MultipleNegatives(?:Symmetric)?RankingLoss\(")
_LABELS = re.compile(
    r"Counter\(\{(?=[^}]*\b0\s*:\s*[1-9])(?=[^}]*\b1\s*:\s*[1-9])[^}]*\}\)|"
    r"['\"]label['\"]\s*:\s*0\b|\blabel\s*=\s*0\b|^label 0\b"
)
_KEPT = re.compile(
    r"filter\([^)]*label|\[['\"]label['\"]\]\s*==\s*1|label\s*==\s*1|where\s+label\s*=\s*1", re.I
)
_COSINE = re.compile(r"\bCosineSimilarityLoss\(")
_SCORE = re.compile(r"['\"](?:score|label|similarity_score)['\"]\s*:\s*(?P<n>\d(?:\.\d+)?)")
_SCALED = re.compile(r"/ ?5(?:\.0)?\b|normali[sz]e\w*score|score\w*\W{1,3}normali")
_TRAIN = re.compile(r"\btrain\w*\s*[\[)\"']|\btrain\b", re.IGNORECASE)
NEAR = 1  # lines above
SURE, LARGE = 9.2, 1.5
NOT_READ = (
    "MultipleNegativesRankingLoss reads no label: it takes every row for a pair that belongs "
    "together, those with label 0 as well, so that texts which do not belong together are pulled "
    "towards each other. The loss falls, and the search gets worse, the more the longer it trains"
)
POSITIVES = (
    "give it the rows with label 1 alone, those with label 0 as a third column of negatives for "
    "their query, or a loss that reads labels (ContrastiveLoss, OnlineContrastiveLoss, "
    "CoSENTLoss); then train again from the first model. A smaller rate only delays it"
)
BEYOND = (
    "CosineSimilarityLoss compares a cosine, which is 1 at most, with scores of up to {top:g}: "
    "nearly every row asks for more than a cosine can be, so that all similarities are pulled to "
    "1 and the loss cannot fall below the rest (it stands at {loss:.3g})"
)
DIVIDE = (
    "divide the scores by the largest one (score / 5 for STS), so that they lie between 0 and 1, "
    "in training and evaluation rows; then train again from the first model. Rate, pooling and "
    "padding are not to blame"
)


def labels_not_read(beside: Beside, log: Log) -> Iterator[Finding]:
    """A ranking loss, and rows with label 0 among those that it gets."""
    loss, labels = beside.matching(_RANKING), _of_training(beside)
    if loss and labels and not beside.matching(_KEPT):
        proof = dict.fromkeys((loss[0].says, labels.says))
        yield Finding(
            "labels_not_read", SURE, loss[0], tuple(proof), why=NOT_READ, advice=POSITIVES
        )


def _of_training(beside: Beside) -> Line | None:
    """The line with a label 0 that stands below a word of the training rows."""
    lines = sorted(beside.words, key=place)
    for number, line in enumerate(lines):
        near = " ".join(one.text for one in lines[max(0, number - NEAR) : number + 1])
        if _LABELS.search(line.text) and _TRAIN.search(near):
            return line
    return None


def beyond_a_cosine(beside: Beside, log: Log) -> Iterator[Finding]:
    """A loss over cosines, scores above 1, and a loss far above what cosines can give."""
    loss, losses = beside.matching(_COSINE), finite(log.values("loss"))
    scores = [(line, float(m["n"])) for line in beside.words for m in _SCORE.finditer(line.text)]
    top = max(scores, key=lambda one: one[1], default=None)
    if not loss or not losses or top is None or beside.matching(_SCALED):
        return
    if top[1] > LARGE and losses[-1] > 1:
        proof = (loss[0].says, top[0].says)
        why = BEYOND.format(top=max(top[1], 5.0) if top[1] > 4 else top[1], loss=losses[-1])
        yield Finding("targets_beyond_cosine", SURE, loss[0], proof, why=why, advice=DIVIDE)
