"""Rows of one document that a sampler by length puts into one batch, as each other's negatives."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_IN_BATCH = re.compile(
    r"\barange\(\s*(?:len\(|\w+\.(?:size|shape))|\bin[- ]batch\b|InfoNCE|MultipleNegatives", re.I
)
_BY_LENGTH = re.compile(
    r"\bsorted\(.*key=.*(?:len|length|n_?tok|nd\b|size|tokens)|argsort\(.*(?:len|tok|size)|"
    r"\bgroup_by_length\W{1,4}true|\bLengthGrouped\w*|\b[Bb]ucket\w*Sampler|"
    r"\bsort\w*\(.*key=.*(?:len|length|n_?tok|size)",
    re.IGNORECASE,
)
_APART = re.compile(
    r"NO_DUPLICATES|no_duplicates|NoDuplicates|\bdedup|same_doc|doc_id\w*.*(?:==|!=|eq\()|"
    r"masked_fill.*(?:same|dup|ids)|unique\(",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\bfor \w+ in \w+\[.*quer|\bn_quer\w+|\bqueries (?:per|for each)\b|"
    r"\bfor q\w* in \w+\[",
    re.IGNORECASE,
)
FEW, LAST, NEAR, BY_CHANCE, MOST = 5, 3, 0.03, 0.05, 16  # entries; of a loss; of a share; rows
TOGETHER = (
    "rows of one document stand in one batch, as negatives of each other: {k} rows with the same "
    "document have the same length, and the sampler sorts by length, so that each row has {less} "
    "more copies of its own answer among the wrong ones. A softmax cannot tell copies apart: the "
    "loss ends at ln {k} = {floor:.3f} and the first place at 1/{k}, whatever model, rate or "
    "temperature is tried"
)
KEEP_APART = (
    "one row of a document in a batch (buckets over documents, their queries spread over batches), "
    "or take the scores of equal document ids out of the softmax; then train again. More negatives "
    "alone change nothing"
)


def siblings_in_a_batch(beside: Beside, log: Log) -> Iterator[Finding]:
    """A sampler by length, labels within the batch, a loss that ends at ln k."""
    by_length, in_batch = beside.matching(_BY_LENGTH), beside.matching(_IN_BATCH)
    if by_length is None or in_batch is None or beside.matching(_APART):
        return
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    series = [(e, v) for e, v in series if e.names.keys() == series[0][0].names.keys()]
    if len(series) < FEW or log.kind() != "supervised":
        return
    k = _copies([loss for _, loss in series[-LAST:]])
    if not k or not all(_has_share(entry.text, k) for entry, _ in series[-LAST:]):
        return
    entry = series[-1][0]
    several = beside.matching(_SEVERAL)
    proof = [f"{said(entry, 'loss')} at {entry.where}, which is ln {k}; beside it 1/{k}"]
    rows = [one for one in (by_length, in_batch, several) if one]
    proof += [line.says for line, _ in rows]
    why = TOGETHER.format(k=k, less=k - 1, floor=math.log(k))
    of = ("positives_twice", 9.0, by_length[0], tuple(proof))
    yield Finding(*of, why=why, advice=KEEP_APART)


def _copies(losses: list[float]) -> int:
    """The whole number at whose logarithm the last losses stand; 0 if at none."""
    k = round(math.exp(sum(losses) / len(losses)))
    is_there = 1 < k <= MOST and all(abs(one / math.log(k) - 1) < NEAR for one in losses)
    return k if is_there else 0


def _has_share(text: str, k: int) -> bool:
    """Whether a number of an entry is one over it: the share of rows that come first."""
    numbers = [float(one) for one in re.findall(r"(?<![\w.])0?\.\d+(?![\w.])", text)]
    return any(abs(one * k - 1) < BY_CHANCE for one in numbers)
