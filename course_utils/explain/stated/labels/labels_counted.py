"""Labels or a mask that somebody has counted: none of them is left for the loss."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.answered import parts_of
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place
from course_utils.explain.paste.log import Log

_OF_LABELS = r"(?:\w*(?<!attention_)masks?\b|\w*labels?\b)"
_COUNT = re.compile(
    rf"(?:\b(?:sum|count_nonzero|any|max)\(.*{_OF_LABELS}|{_OF_LABELS}.*\.(?:sum|any|max|count_nonzero)\()",
    re.IGNORECASE,
)
_VALUES = re.compile(r"\b(?:set|unique|Counter)\(.*\blabels?\b|\blabels?\b.*\.unique\(", re.I)
_ALL_ROWS = re.compile(r"\bfor \w+ in\b|\bmap\(|\ball\b|\.filter\(|\.apply\(")
_NONE = re.compile(r"(?:tensor\()?\s*(?:0(?:\.0*)?|False)\s*(?:,[^)]*)?\)?")
_ONLY_IGNORED = re.compile(
    r"^\W*(?:tensor|array|Counter)?[({\[]+\s*-100\s*(?::\s*\d+)?\s*[)}\],]+.*$"
)
_SAID = re.compile(
    r"\b(?:(?:non[- ]?masked|unmasked|supervised|trainable|learnt|label|loss|target|assistant)[ _]"
    r"tok\w*|labels? (?:that are )?(?:!=|not|other than) -100|assistant_masks?)\b[^\d\n]{0,20}?"
    r"\b0(?! ?%?\.\d)(?= ?(?:/|of|out of|\)|,|;|$))",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:assistant|completion|response)s?_only(?:_loss)?['\"]?\s*[:=]\s*['\"]?true\b|"
    r"\btrain_on_(?:responses|completions)_only\b|\bDataCollatorForCompletionOnlyLM\b|"
    r"\b(?:mask_prompt|return_assistant_tokens_mask)['\"]?\s*[:=]\s*['\"]?true\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"['\"](?:\{%-? ?)?generation(?: ?-?%\})?['\"] in \w+|grep.*generation", re.I)
_NO_TAG = re.compile(r"^\W*(?:False|0|None|-1)\b")
NOTHING_LEFT = (
    "no token is left for the loss: of what is counted here none has a label{rows}. The loss is "
    "then 0 / 0, which is nan and may be logged as 0, and the weights are nan from the first "
    "update on; number format, attention kernel and learning rate have no part in it"
)
WITHOUT_TAG = (
    ". The replies are to be told by the template, and it has no {% generation %} tags, so that "
    "its mask is 0 everywhere"
)
GIVE_A_MASK = (
    "a chat template with {% generation %} around the replies (or rows of prompt and completion, "
    "with completion_only_loss)"
)
FIND_THEM = "look why no reply is found: the template's marks, the response template, truncation"
THEN_COUNT = (
    "{}; count the labels of some rows before the run, which must be more than 0, and begin again "
    "from the untouched weights"
)


def none_is_counted(beside: Beside, log: Log) -> Iterator[Finding]:
    """A count of labels that is 0, over all rows or beside losses of 0 or nan."""
    counted = list(_counted(beside, log))
    every = next((pair for pair in counted if _ALL_ROWS.search(pair[0].text)), None)
    if not counted or not (every or _is_dead(log)) or _has_loss(log):
        return
    pairs = [every] if every else []
    pairs += [counted[0]] if counted[0] is not every else []
    asked, tag = beside.matching(_ASKED), _without_tag(beside)
    proof = [_said(pair) for pair in pairs]
    proof += [f"{asked[0].where} says: {asked[1]}"] if asked else []
    proof += [_said(tag)] if tag else []
    if _is_dead(log):
        entry, loss = log.series("loss")[0]
        proof.append(f"the loss is {loss:g} at {entry.where}, and never a number above 0")
    why = NOTHING_LEFT.format(rows=", in any row" if every else "")
    why += WITHOUT_TAG if tag else ""
    advice = THEN_COUNT.format(GIVE_A_MASK if tag else FIND_THEM)
    weight = 9.6 if every or asked else 9.2
    yield Finding("labels_masked", weight, pairs[0][0], tuple(proof), why=why, advice=advice)


def _said(pair: tuple[Line, Line | Entry]) -> str:
    line, below = pair
    text = line.text.strip()[:MAX_QUOTE]
    return (
        f"{line.where} says: {text}"
        if line is below
        else f"{below.where} says {below.text.strip()[:40]} to {text}"
    )


def _counted(beside: Beside, log: Log) -> Iterator[tuple[Line, Line | Entry]]:
    """What counts labels, and the line with the answer 0; the same line twice where it says so."""
    parts = sorted([*(line for line in beside.words), *log.entries], key=place)
    for line, below in pairwise([*parts, Line("line 0", "")]):
        if _SAID.search(line.text):
            yield line, line
        elif _VALUES.search(line.text) and _ONLY_IGNORED.match(below.text):
            yield line, below
        elif _COUNT.search(line.text):
            asked, told = parts_of(line.text), parts_of(below.text)
            pairs = zip(asked, told, strict=True) if len(asked) == len(told) else ()
            if any(_COUNT.search(one) and _NONE.fullmatch(value) for one, value in pairs):
                yield line, below


def _is_dead(log: Log) -> bool:
    """Whether no loss of the run is a number other than 0."""
    return bool(log.values("loss") or log.values("eval_loss")) and not _has_loss(log)


def _has_loss(log: Log) -> bool:
    losses = [v for name in ("loss", "eval_loss") for v in log.values(name)]
    return any(math.isfinite(one) and one for one in losses)


def _without_tag(beside: Beside) -> tuple[Line, Line] | None:
    lines = beside.words
    found = (pair for pair in pairwise(lines) if _TAG.search(pair[0].text))
    return next((pair for pair in found if _NO_TAG.match(pair[1].text)), None)
