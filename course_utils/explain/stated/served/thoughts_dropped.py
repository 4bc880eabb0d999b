"""Thoughts that stand in the data's replies and are gone from the rows that a template made."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place, plain_number
from course_utils.explain.paste.log import Log

OPEN = r"<(?:think(?:ing)?|thought|reasoning|\|begin_of_thought\|)>"
_FULL = re.compile(rf"{OPEN}(?:\s|\\n)*(?!</)[^\s<\\]")
_REPLY = re.compile(
    r"['\"](?:role|from)['\"]\s*:\s*['\"](?:assistant|gpt|model)['\"].*?" + _FULL.pattern + "|"
    r"['\"](?:output|response|completion|answer|reasoning(?:_content)?)['\"]\s*:\s*.*?"
    + _FULL.pattern,
    re.DOTALL,
)
_COLUMN = re.compile(r"['\"]reasoning(?:_content)?['\"]\s*:\s*['\"][^'\"\s]")
_SHOWS = re.compile(
    r"(?!.*(?:generat|\bout\w*\[|sampl|\bresp\w*\[))(?:"
    r"\bdecode\(.*(?:input_ids|labels|train|ds\[|dataset|batch)|apply_chat_template\(|"
    r"^\W*(?:inputs|text|labels|row|training (?:example|row)\w*|decoded (?:row|example)\w*|"
    r"rendered(?: row| text)?|first (?:row|example)|example|sample row)\b[^:\n]{0,40}:\s*|"
    r"\[['\"]text['\"]\])",
    re.IGNORECASE,
)
_ASSISTANT = re.compile(
    r"<\|im_start\|>assistant|<[|\uff5c]Assistant[|\uff5c]>|<\|start_header_id\|>assistant"
    r"<\|end_header_id\|>|<start_of_turn>model|<\|assistant\|>|\[/INST\]"
)
_EMPTY = re.compile(rf"(?:\s|\\n)*{OPEN}(?:\s|\\n)*</\w+>")
_SAID = re.compile(r"^(?:\s|\\n)*\w|^(?:\s|\\n)*[^\s\\<]")
_COUNT = re.compile(r"think|thought|reasoning", re.IGNORECASE)
_COUNTS = re.compile(
    r"grep|\bcount\w*\b|\bsum\(|\bblocks?\b|\boccurrences?\b|\bwc\b|\bhave\b|\bwith\b", re.I
)
_NUMBER = re.compile(r"(?<![\w.<])(?P<n>\d[\d,]*)(?![\w.]*\w)")
_ALONE = re.compile(r"^\W*(?:Out\[\d+\]:)?\W*(?P<n>\d[\d,]*)\W*$")
_RAW = re.compile(
    r"jsonl?\b|\braw\b|\bfile\b|\bsource\b|\bmessages\b|\bdata(?:set)?\b", re.IGNORECASE
)
_RENDERED = re.compile(
    r"apply_chat_template|\brender\w*|\bdecode\w*|\binput_ids\b|\btokeni[sz]ed\b|\btemplated?\b|"
    r"\btrain_dataset\b|\[['\"]text['\"]\]|\bafter\b|\brows?\b",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"apply_chat_template|chat[- ]template|\brender\w*|\bdecode\w*", re.IGNORECASE
)
_CALL = re.compile(r"\w\(|\w\[")
_CLAUSES = re.compile(r"[.;!?,](?=\s)|\b(?:but|and|while|after)\b")
_KEPT = re.compile(
    r"preserve_thinking|keep_(?:past_)?(?:thinking|reasoning)|strip_thinking\W+false|"
    r"clear_thinking\W+false",
    re.IGNORECASE,
)
MOST_LINES, FEWER, FEWEST = 16, 0.7, 20  # of a row; of the blocks; blocks of a data set
SURE, COUNTED = 9.2, 9.0
GONE = (
    "the chat template takes the thoughts out of the replies that are to be learnt: the data has "
    "them, and {what}. Templates of models that think drop the thoughts of earlier turns (all "
    "before the last question), or of every reply, as they are made for prompts. So the model is "
    "trained to answer at once, and unlearns to think; a learning rate that is too high, or "
    "forgetting, is not needed for that"
)
OF_ROW = "a row as it was rendered has none between the head of the reply and its answer"
OF_COUNT = "of {before:,} blocks of thoughts {after:,} are left once the rows are rendered"
KEEP = (
    "train with a template that keeps the thoughts (a copy of it without the line that splits at "
    "</think>, given as chat_template), or make a row of each turn so that the trained reply is "
    "the last one, or put prompt and reply together as text; decode a row, count the thoughts, and "
    "begin again from the model as it was"
)


def thoughts_dropped(beside: Beside, log: Log) -> Iterator[Finding]:
    """Replies with thoughts in the data, beside a rendered row without, or by two counts."""
    if beside.matching(_KEPT):
        return
    parts = sorted([*beside.words, *log.entries], key=place)
    if found := _counted(parts):
        before, after = found
        what = OF_COUNT.format(before=before.number, after=after.number)
        shown, weight = [before.at, after.at], COUNTED
    elif (source := _source(parts)) and (row := _row_without(parts, source)):
        what, shown, weight = OF_ROW, [source, row], SURE
    else:
        return
    proof = tuple(dict.fromkeys(one.says for one in shown))
    why = GONE.format(what=what)
    yield Finding("reasoning_dropped", weight, shown[-1], proof, why=why, advice=KEEP)


def _source(parts: list[Line | Entry]) -> Line | Entry | None:
    """A row of the data whose reply has thoughts, or a column of them."""
    for part in parts:
        if _REPLY.search(part.text) or _COLUMN.search(part.text):
            return part
    return None


def _row_without(parts: list[Line | Entry], source: Line | Entry) -> Line | Entry | None:
    """What shows a rendered row, where its replies are given and no thought is in them."""
    for number, part in enumerate(parts):
        if part is source or not _SHOWS.search(part.text):
            continue
        row = "\n".join(one.text for one in _below(parts, number))
        replies = [_EMPTY.sub("", one, count=1) for one in _ASSISTANT.split(row)[1:]]
        bare = [one for one in replies if _SAID.match(one) and not re.search(OPEN, one)]
        several = len(re.findall(OPEN, source.text)) > 1  # and the last one alone may be left
        if bare and (len(bare) == len(replies) or several):
            return part
    return None


def _below(parts: list[Line | Entry], number: int) -> list[Line | Entry]:
    """A line that shows a row and what stands below it, up to the next command or data."""
    shown = [parts[number]]
    for part in parts[number + 1 : number + MOST_LINES]:
        if re.match(r"\s*(?:>>>|\$ |print\(|In \[|\{)", part.text) or _SHOWS.search(part.text):
            break
        shown.append(part)
    return shown


@dataclass(frozen=True)
class _Count:
    at: Line | Entry
    number: int
    is_raw: bool


def _counted(parts: list[Line | Entry]) -> tuple[_Count, _Count] | None:
    """The thoughts of the data and of the rendered rows, as somebody has counted them."""
    if not any(_TEMPLATE.search(part.text) for part in parts):
        return None
    found = list(_counts(parts))
    raw = [one for one in found if one.is_raw and one.number >= FEWEST]
    rendered = [one for one in found if not one.is_raw]
    for before in raw:
        for after in rendered:
            if after.number < FEWER * before.number:
                return before, after
    return None


def _counts(parts: list[Line | Entry]) -> Iterator[_Count]:
    """Each number of thoughts: the answer to a command, or in a clause of a sentence."""
    for part, below in pairwise([*parts, Line("", "")]):
        if not _COUNT.search(part.text):
            continue
        if (answer := _ALONE.match(below.text)) and _COUNTS.search(part.text):
            yield _Count(below, int(plain_number(answer["n"])), _is_raw(part.text))
            continue
        for clause in _CLAUSES.split(part.text):
            numbers = _NUMBER.findall(clause)
            is_told = _RAW.search(clause) or _RENDERED.search(clause)
            if len(numbers) == 1 and is_told and not _CALL.search(clause):
                yield _Count(part, int(plain_number(numbers[0])), _is_raw(clause))


def _is_raw(text: str) -> bool:
    """Whether it speaks of the data, and not of what a template made of it."""
    return bool(_RAW.search(text)) and not _RENDERED.search(text)
