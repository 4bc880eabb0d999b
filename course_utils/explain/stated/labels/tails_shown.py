"""The last tokens of rows to learn from, as somebody has decoded or counted them: no end there."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.labels.cut_ends import RUNS_ON, ends_cut
from course_utils.explain.stated.labels.learnt_ends import IDS, complained

_OF_ROWS = r"(?:chosen|rejected|labels?|completions?|responses?|answers?|targets?|input_ids|rows?)"
_ASKS_TAIL = re.compile(
    rf"\b(?:\w*decode|convert_ids_to_tokens)\(.*{_OF_ROWS}.*\[\s*-\d+\s*:\s*\]", re.IGNORECASE
)
_NAMES_TAIL = re.compile(
    rf"(?=.*\b(?:last|final|tail|ends?|ending)\b)(?=.*\b{_OF_ROWS}).*?[:=]\s*(?P<text>['\"\[].+)$",
    re.IGNORECASE,
)
_TEXT = re.compile(r"^\W*(?P<text>['\"\[].*\w.*['\"\]])\W*$")
_SPECIAL = re.compile(r"<[^<>\s]{1,30}>|\[/?[A-Z]+\]")
_GENERATED = re.compile(
    r"\bprompts?(?:_\w+)?\b|\bgen\w*|\bout(?:put)?s?\b|\bpred\w*|\bsample", re.I
)
_ASKS_COUNT = re.compile(
    r"^(?=.*-1\]\)?(?:\.item\(\))?\s*(?:==|\bin\b))(?=.*(?:\b(?:sum|count|mean|any|len|int)\(|\+=))",
    re.I,
)
_NONE = re.compile(
    r"^\W*(?:tensor\()?(?:0(?:\.0+)?|False)\b(?:\W+\d[\d,]*)?\W*$|^\W*Counter\(\{False: \d+\}\)"
)
_OF_TRAINING = re.compile(
    r"chosen|rejected|label|\brows?\b|pairs?\b|train|input_ids", re.IGNORECASE
)
_COUNTED = re.compile(
    r"\b(?:end(?:s|ing)?|eos\w*|eot\w*|last)\b[^\n]{0,60}?(?<![\d.,])0 ?(?:/|of|"
    r"out of) ?(?P<a>\d[\d,]*)|"
    r"(?<![\d.,])0 ?(?:/|of|out of) ?(?P<b>\d[\d,]*)[^\n]{0,60}\b(?:end(?:s|ing)?|eos\w*|eot\w*)\b",
    re.IGNORECASE,
)
_CUT_AT_LENGTH = re.compile(
    r"\bfinish_reason\b.*\blength\b|\blength\W{1,3}\d{2,3} ?%|\d ?% (?:\w+ )?length\b|"
    r"\b(?:keeps? (?:on|going|writing)|goes on|forever|endless\w*|rambl\w+|runs? on)\b",
    re.IGNORECASE,
)
NEAR, ALL, LEAST, TAIL = 3, 50, 4, 40  # lines below; rows; letters of a tail, and its last part
NO_END = (
    "the rows to learn from end without the token that ends a turn{end}: {what}. So no label ever "
    "teaches where a reply ends, and the model writes on"
)
OF_PAIRS = (
    "chosen and rejected end without the token that ends a turn{end}: {what}. So the step with the "
    "pairs never trains the end, which neither reply has, and the policy unlearns what it knew of "
    "it from before"
)
APPEND = (
    "append the id that generation stops at{end} to {whom}, behind any truncation and with a label "
    "of its own, see that the last label of ten rows is that id, and train again from the weights "
    "of before; a stop string or a penalty only hides it"
)


def tail_without_end(beside: Beside, log: Log) -> Iterator[Finding]:
    """Decoded ends of rows, or a count, without an end token, beside replies that run on."""
    runs_on = beside.matching(RUNS_ON) or complained(beside) or beside.matching(_CUT_AT_LENGTH)
    shown = [*_decoded(beside.words)]
    tails = [(line, end) for line, end in shown if not _SPECIAL.search(end[-TAIL:])]
    counts = list(_counted(beside.words))
    if runs_on is None or len(tails) < len(shown) or not (tails or counts):
        return
    if any(ends_cut(beside, log)):
        return  # a limit has cut the ends away
    of_pairs = log.kind() == "preference" or any("chosen" in x.text for x, _ in tails + counts)
    what = f"what is shown of one ends in {tails[0][1][-TAIL:]}" if tails else counts[0][1]
    proof = [f"{line.where} shows the end of a row: {text[-TAIL:]}" for line, text in tails[:2]]
    proof += [f"{line.says} ({what})" for line, what in counts[:1]]
    proof.append(f"{runs_on[0].where} says: {runs_on[0].text.strip()[:MAX_QUOTE]}")
    end = _end(beside)
    whom = "both replies of each pair" if of_pairs else "each reply"
    why = (OF_PAIRS if of_pairs else NO_END).format(end=end, what=what)
    at = (tails or counts)[0][0]
    advice = APPEND.format(end=end, whom=whom)
    yield Finding("end_missing", 8.7, at, tuple(proof), why=why, advice=advice)


def _decoded(lines: list[Line]) -> Iterator[tuple[Line, str]]:
    """The ends of rows that are shown as text or tokens."""
    for number, line in enumerate(lines):
        if _GENERATED.search(line.text):
            continue
        if named := _NAMES_TAIL.match(line.text):
            texts = [named["text"]]
        elif _ASKS_TAIL.search(line.text):
            comment = line.text.rpartition("#")[2] if "#" in line.text else ""
            texts = [comment, *(one.text for one in lines[number + 1 : number + 1 + NEAR])]
        else:
            continue
        found = next(filter(None, map(_TEXT.match, texts)), None)
        if found and len(found["text"].strip()) >= LEAST:
            yield line, found["text"].strip()


def _counted(lines: list[Line]) -> Iterator[tuple[Line, str]]:
    """That no row of many ends with the token that was looked for."""
    for number, line in enumerate(lines):
        told = _COUNTED.search(line.text)
        around = " ".join(one.text for one in lines[max(0, number - 1) : number + 1])
        if not _OF_TRAINING.search(around) or _GENERATED.search(line.text):
            continue
        if told and plain_number(told["a"] or told["b"]) >= ALL:
            yield line, f"{told[0].strip()} rows hold it"
        elif _ASKS_COUNT.search(line.text):
            below = (one.text for one in lines[number + 1 : number + 1 + NEAR])
            if any(map(_NONE.match, (line.text.rpartition("#")[2].strip(), *below))):
                yield line, "no row holds it, as counted"


def _end(beside: Beside) -> str:
    """The token that ends a turn here, in brackets; "" where several are named, or none."""
    text = "\n".join(line.text for line in beside.words)
    named = [end for end in IDS if end in text]
    return f" ({named[0]})" if len(named) == 1 else ""
