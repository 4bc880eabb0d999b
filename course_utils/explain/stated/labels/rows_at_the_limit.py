"""Rows that a limit of the length cuts, as counts of rows and of labels show it."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.quantiles import Counted, counted

_BIN = re.compile(
    r"^\W*(?:(?P<low>\d[\d,]*)\s*(?:-|to|\.\.)\s*)?(?P<n>\d[\d,]*)[\s:|]+(?P<rows>\d[\d,]*)\W*$"
)
_FILLED = re.compile(
    r"\bpack(?:ing|ed)\b(?!['\"]?\s*[=:]\s*['\"]?(?:false|none|0))|"
    r"\bpad\w*['\"]?\s*[=:]\s*['\"]?(?:max_length|to_max\w*)|excess_length_strategy\W+drop|"
    r"\bdrop_long\b",
    re.IGNORECASE,
)
_WRITTEN = re.compile(  # prompt and output together, of what the model generates
    r"\bprompt ?\+ ?(?:output|repl\w+|completion|response|answer)", re.IGNORECASE
)
_CUT_OFF = re.compile(r"^\W*\.\.\..{3,80}[a-z,]\W{0,2}\s*$")  # "...the second quarter saw a"
_LEARNT = re.compile(
    r"\b(?:total_)?(?:num_)?(?:supervised|label\w*|trainable|target)[_ ]tokens?\b\W{1,3}"
    r"(?P<n>\d[\d,_]*)|\btokens with (?:a )?labels?\W{1,4}(?P<m>\d[\d,_]*)",
    re.IGNORECASE,
)
_SUM = re.compile(r"\b(?:sum|total|tokens)\W{1,3}(?P<n>\d[\d,_]*)", re.IGNORECASE)
_OF_ANSWERS = re.compile(
    r"\b(?:outputs?|answers?|responses?|completions?|repl(?:y|ies))\b", re.IGNORECASE
)
_LONGEST = re.compile(
    r"\b(?:max_input_len\w*|longest(?: row)?|max(?:imum)? (?:row )?len\w*)\W{1,3}(?P<n>\d[\d,_]*)",
    re.IGNORECASE,
)
FEWEST_BINS, MOST, HALF, NEAR, ZEROS = 3, 0.5, 0.5, 0.1, 2  # of rows; of tokens; of the limit
CUT_OFF = (
    "most rows are longer than the limit of {limit} tokens and are cut there ({share:.0%} of them "
    "are exactly as long): {what}"
)
ENDS_THERE = (
    "the model learns texts that break off at that length, and breaks off there itself, in the "
    "midst of a sentence"
)
NOT_WHOLE = "the model is shown their beginnings alone, and never how such a text goes on and ends"
LONGER = (
    "a limit that holds the rows (count how many are longer), or drop those that are longer in "
    "place of cutting them, and train again; a minimum of tokens, a penalty or another prompt do "
    "not bring back what was never learnt"
)
NO_ANSWERS = (
    "most of what is to be learnt is cut away: {some:,.0f} tokens have a label, and the answers "
    "have {whole:,.0f} in the file. Rows longer than {limit} tokens lose their end, where the "
    "answer stands; those that keep no label at all teach nothing"
)
KEEP_ANSWERS = (
    "a limit that holds the rows, a shorter document in front of the answer (or one cut from the "
    "left), or drop the rows that keep no label; count the labels before the training. Clipping "
    "and another optimizer do not mend it"
)


def rows_at_the_limit(beside: Beside, log: Log) -> Iterator[Finding]:
    """A histogram whose last bin, the limit, holds most rows; labels far fewer than answers."""
    limit = beside.printed("max_length")
    if limit is None or not limit.number or limit.number < 64 or log.kind() == "policy":
        return
    lines = beside.words
    if not any(_FILLED.search(line.text) for line in lines):
        yield from _full_bin(lines, limit)
    yield from _few_labels(lines, limit, log)


def _full_bin(lines: list[Line], limit: Setting) -> Iterator[Finding]:
    bins: list[tuple[Line, re.Match]] = []
    for line in [*lines, Line("", "")]:
        if found := _BIN.match(line.text):
            bins.append((line, found))
            continue
        yield from _of_bins(bins, lines, limit)
        bins = []


def _of_bins(
    bins: list[tuple[Line, re.Match]], lines: list[Line], limit: Setting
) -> Iterator[Finding]:
    if len(bins) < FEWEST_BINS or not any(m["low"] for _, m in bins):
        return
    line, last = bins[-1]
    rows = [plain_number(m["rows"]) for _, m in bins]
    share = rows[-1] / max(sum(rows), 1)
    if plain_number(last["n"]) != limit.number or last["low"] or share < MOST:
        return
    near = next((one for one in counted(lines) if _ends_near(one, limit)), None)
    broken = [one for one in lines if _CUT_OFF.match(one.text)]
    proof = [limit.said, f"{line.where}: {rows[-1]:,.0f} of {sum(rows):,.0f} rows have this length"]
    proof += [one.says for one in _shown(near, broken)]
    what = ENDS_THERE if near or broken else NOT_WHOLE
    why = CUT_OFF.format(limit=limit.value, share=share, what=what)
    yield Finding("too_long", 8.2, line, tuple(proof), why=why, advice=LONGER)


def _ends_near(one: Counted, limit: Setting) -> bool:
    """Whether what is generated ends at the length of the limit, together with its prompt."""
    middle = one.numbers.get("p50") or one.numbers.get("median")
    is_near = middle and abs(middle / (limit.number or 1) - 1) < NEAR
    return bool(is_near and _WRITTEN.search(one.label))


def _shown(near: Counted | None, broken: list[Line]) -> list[Line]:
    return [*([near.line] if near else []), *broken[:1]]


def _few_labels(lines: list[Line], limit: Setting, log: Log) -> Iterator[Finding]:
    """A count of tokens with a label that is far below that of the answers in the file."""
    learnt = next(((x, m) for x in lines if (m := _LEARNT.search(x.text))), None)
    whole = next(_answers(lines), None)
    longest = next(((x, m) for x in lines if (m := _LONGEST.search(x.text))), None)
    if learnt is None or whole is None:
        return
    some, (at, tokens) = plain_number(learnt[1]["n"] or learnt[1]["m"]), whole
    is_longer = longest and plain_number(longest[1]["n"]) > (limit.number or 0)
    if not 0 < some < HALF * tokens or not is_longer:
        return
    shown = [learnt[0], at, longest[0]]
    proof = [limit.said, *(x.says for x in shown)]
    zeros = [e for e, v in log.series("loss") if v == 0 == e.numbers.get("grad_norm", 0.0)]
    if len(zeros) >= ZEROS:
        proof.append(f"{said(zeros[0], 'loss')} at {zeros[0].where}: a batch without a label")
    why = NO_ANSWERS.format(some=some, whole=tokens, limit=limit.value)
    yield Finding("labels_masked", 8.6, learnt[0], tuple(proof), why=why, advice=KEEP_ANSWERS)


def _answers(lines: list[Line]) -> Iterator[tuple[Line, float]]:
    """The tokens of all answers, on a line about answers or below it."""
    for above, line in pairwise([Line("", ""), *lines]):
        about = _OF_ANSWERS.search(line.text) or _OF_ANSWERS.search(above.text)
        if about and (found := _SUM.search(line.text)) and not _LEARNT.search(line.text):
            yield line, plain_number(found["n"])
