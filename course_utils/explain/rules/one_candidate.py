"""A loss of 0 without a gradient in contrastive training: a softmax over one candidate alone:
`rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose

OF_THE_BATCH = re.compile(  # what a loss over candidates is called, or set by
    r"MultipleNegatives|InfoNCE|contrastive|in-batch|SimCSE|negatives_(?:cross_device|x_device)|"
    r"\btrain_(?:group_size|n_passages)\b|\bpassage_max_len\b",
    re.IGNORECASE,
)
_OF_A_LIST = re.compile(r"rerank|cross[-_]?encoder", re.IGNORECASE)
_SET = r"['\"]?(?:\s*[=:]\s*|\s+)['\"]?(\d+)\b"
_GROUP = re.compile(rf"\b(?:train_group_size|train_n_passages|group_size){_SET}")
_BATCH = re.compile(rf"\b(?:per_device_train_batch_size|train_batch_size|batch_size){_SET}")
_NEGATIVES = re.compile(r"['\"](?:neg|negs|negative_passages|hard_negatives)['\"]\s*:\s*\[\s*\S")
FEW = 3  # entries
MORE = (
    "more candidates for each question: {} and a batch of more than one row per device; the first "
    "loss must be near the logarithm of their number"
)
BY_GROUP = "a larger group ({} 8: the positive and 7 negatives)"
BY_ROWS = "a negative for each row"


def one_candidate(log: Log, beside: Beside) -> Finding | None:
    """Loss and gradient are exactly 0 in every entry, and the settings leave one candidate."""
    series, norms = log.series("loss"), log.values("grad_norm")
    if len(series) < FEW or any(loss for _, loss in series) or not norms or any(norms):
        return None
    if log.kind() != "supervised" or not beside.matching(OF_THE_BATCH):
        return None
    group, batch = _setting(beside, _GROUP), _setting(beside, _BATCH)
    alone = batch is not None and batch[1] == 1
    alone = alone or bool(group and _program_says(beside, _OF_A_LIST))
    if (group is not None and group[1] != 1) or not alone:
        return None
    entry, given = series[0][0], beside.matching(_NEGATIVES)
    settings = [f"{one[0].where} says: {one[2]}" for one in (group, batch) if one]
    proof = (
        f"{said(entry, 'loss', 'grad_norm')} in all {len(series)} entries",
        *settings,
        *([f"{given[0].where} has negatives: {given[0].text[:MAX_QUOTE]}"] if given else []),
    )
    name = group[2].split()[0].strip("-") if group else ""
    advice = MORE.format(BY_GROUP.format(name) if group else BY_ROWS)
    return Finding("one_candidate", 8.5, entry, proof, advice=advice)


def _setting(beside: Beside, pattern: re.Pattern) -> tuple[Line, int, str] | None:
    """The last value that a program, and no sentence, has of a setting."""
    lines = [line for line in beside.words if not is_prose(line.text)]
    found = [(line, matched) for line in lines for matched in pattern.finditer(line.text)]
    if not found:
        return None
    line, matched = found[-1]
    return line, int(matched[1]), matched[0]


def _program_says(beside: Beside, pattern: re.Pattern) -> bool:
    return any(pattern.search(x.text) for x in beside.words if not is_prose(x.text))


RULES_OF_SETTINGS = (one_candidate,)
