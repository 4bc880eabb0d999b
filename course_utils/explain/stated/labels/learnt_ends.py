"""The end that a model has learnt, by its labels or in its replies, beside the end that the saved
model is told to stop at."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.messages.complaints import COMPLAINTS
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.labels.shown_rows import tokens

IDS = {  # of the ends that models have, as their tokenizers number them
    "<|im_end|>": {151645},
    "<|endoftext|>": {151643, 50256, 199999},
    "<|eot_id|>": {128009},
    "<|end_of_text|>": {128001},
    "<end_of_turn>": {107, 106},
    "<eos>": {1},
    "</s>": {2},
    "<|end|>": {32007, 200020},
}
OF_TURNS = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>")  # and no end of a text
_END = "|".join(map(re.escape, IDS))
_END_OF_TURN = re.compile("|".join(map(re.escape, OF_TURNS)))
_OPENS = re.compile(
    r"<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|(?:user|assistant)\|>"
)
_LIST = re.compile(r"\[\s*(?P<ids>\d+(?:\s*,\s*\d+){2,})")
_OF_REPLY = re.compile(
    r"\b(?:gen\w*|new|out\w*|repl\w+|completion\w*|response\w*|sampl\w+|answer\w*|produc\w+|"
    r"token_ids)\b|\[\w[\w.\[\]()]*\s*:\s*\]",
    re.IGNORECASE,
)
BEGINS = {128000, 128006, 151644, 106, 105, 32010}  # a text or a turn, in rows and prompts
_LEARNT = re.compile(rf"\blabels?\b.*?({_END})(?:\\n|[\s'\"\])])*$", re.IGNORECASE)
_STOPS = re.compile(
    rf"\beos[_ ]token['\"]?\s*[:=]\s*(?:\{{\s*['\"]content['\"]\s*:\s*)?['\"]?({_END})"
)
_STOP_IDS = re.compile(
    r"\beos_token_id\b['\")\]]*(?:\s*(?:[:=]|->|=>|\bis\b)\s*|\s+)(\[[\d,\s]+\]|\d+)"
)
_ASKS_STOPS = re.compile(r"\beos_token(?:_id)?\b['\")\]]*\s*(?:#.*)?$")
_ANSWER = re.compile(
    rf"^\W*(?:Out\[\d+\]:)?\W*(?:(?P<token>{_END})\W*)?(?P<id>\d+(?:\s*,\s*\d+)*)?\W*$"
)
_RUNS_ON = re.compile(
    r"finish_reason\W{1,5}length|[^.\n]{0,40}\b(?:until|to|till) (?:the )?max_(?:new_)?tokens\b|"
    r"\bstop string\b[^.\n]{0,40}",
    re.IGNORECASE,
)
ANOTHER = (
    "the model has learnt to end with {learnt} and is told to stop at {stops}: {shown}, and "
    "whoever generates waits for another token, so that the reply goes on behind it"
)
BY_LABELS, BY_REPLIES = "the labels hold the end", "its own replies hold the end"
SET_IT = (
    "put the id of {learnt} into eos_token_id of generation_config.json (a list may hold both), "
    "and make it the eos_token of the saved tokenizer; a stop string or stop_token_ids is the same "
    "by hand; no need to train again"
)
WEIGHT, WRITTEN = 8.0, 9.0


@dataclass(frozen=True)
class _End:
    """An end that is learnt: its name, its ids, where it stands and whether a reply holds it."""

    at: Line
    name: str
    ids: set[int]
    is_written: bool = False

    @property
    def said(self) -> str:
        if self.is_written:
            return f"{self.at.says} (it goes on behind {self.name})"
        return f"{self.at.where}: the labels end with {self.name}"


def another_end(beside: Beside, _log: Log) -> Iterator[Finding]:
    """An end that is learnt or written, which the printed eos is not, and replies that run on."""
    names, numbers = _all(beside, _STOPS), _all(beside, _STOP_IDS)
    for _, answer in _answered(beside):
        names += [answer["token"]] if answer["token"] else []
        numbers += [answer["id"]] if answer["id"] else []
    stops = _last(beside, _STOPS) or _last(beside, _STOP_IDS) or _last_answer(beside)
    written, learnt = _written(beside), _learnt(beside)
    end = written or learnt
    if end is None or stops is None:
        return
    runs_on = beside.matching(_RUNS_ON) or complained(beside)
    if not runs_on and not written:
        return
    other, stop = stops
    ids = {int(one) for found in numbers for one in re.findall(r"\d+", found)}
    if end.name in names or ids & end.ids or stop == end.name:
        return
    is_numbered = end.ids != IDS[end.name]  # by the paste itself
    if not is_numbered and not ids <= set().union(*IDS.values()):
        return  # a number that another tokenizer may give to the learnt end
    told = [one.said for one in (learnt, written) if one and one.name == end.name]
    told += [other.says]
    told += [f"{runs_on[0].where} says: {runs_on[1].strip()[:MAX_QUOTE]}"] if runs_on else []
    shown = BY_REPLIES if written else BY_LABELS
    why = ANOTHER.format(learnt=end.name, stops=stop, shown=shown)
    weight, advice = WRITTEN if written else WEIGHT, SET_IT.format(learnt=end.name)
    of = ("stops_elsewhere", weight, end.at, tuple(dict.fromkeys(told)))
    yield Finding(*of, why=why, advice=advice)


def _learnt(beside: Beside) -> _End | None:
    """The end of a shown row that has a label."""
    if found := _last(beside, _LEARNT):
        return _End(*found, IDS[found[1]])
    for line in beside.words:
        row = tokens(line)
        text, label, number = row[-1] if row else ("", "", "")
        if text in OF_TURNS and label == number:
            return _End(line, text, {int(number)})
    return None


def _written(beside: Beside) -> _End | None:
    """The end of a turn in a reply that goes on behind it: as text, or as its id."""
    for line in beside.words:
        end = _END_OF_TURN.search(line.text)
        opens = _OPENS.search(line.text)
        if end and not (opens and opens.start() < end.start()) and _goes_on(line, end):
            return _End(line, end[0], IDS[end[0]], is_written=True)
    for above, line in pairwise([Line("", ""), *beside.words]):
        found = _LIST.search(line.text)
        ids = [int(one) for one in re.findall(r"\d+", found["ids"])] if found else []
        is_reply = _OF_REPLY.search(f"{above.text} {line.text[: found.start()]}" if found else "")
        if is_reply and ids[0] not in BEGINS and (name := _end_within(ids)):
            return _End(line, name, IDS[name], is_written=True)
    return None


def _goes_on(line: Line, end: re.Match) -> bool:
    """Whether a reply, in quotes or behind its name, has more than a quote behind its end."""
    before, rest = line.text[: end.start()], line.text[end.end() :].replace("\\n", " ")
    is_reply = re.match(r"\s*(?:['\"]|\S*\s?(?:->|=>|:)\s*['\"]?)\s*\w", before)
    is_more = re.match(rf"\s*(?:{_OPENS.pattern}|\w{{2,}})", rest)
    return bool(is_reply and is_more) and not re.search(r"\blabels?\b|\bprompt\b|\btext\b", before)


def _end_within(ids: list[int]) -> str:
    """The end of a turn that stands within a list, and not at its end."""
    for name in OF_TURNS:
        if min(IDS[name]) > 1000 and IDS[name] & set(ids[:-1]):
            return name
    return ""


def _answered(beside: Beside) -> Iterator[tuple[Line, re.Match]]:
    """What a prompt has answered to the question for the end, with the line of the answer."""
    for line, below in pairwise(beside.words):
        if _ASKS_STOPS.search(line.text) and (answer := _ANSWER.match(below.text)):
            yield below, answer


def _last_answer(beside: Beside) -> tuple[Line, str] | None:
    for line, one in reversed(list(_answered(beside))):
        if told := one["token"] or one["id"]:
            return line, ", ".join(dict.fromkeys(re.split(r"\s*,\s*", told)))
    return None


def complained(beside: Beside) -> tuple[Line, str] | None:
    """What the writer says of replies that do not stop."""
    pattern = next(one for one, keys in COMPLAINTS if "stops_elsewhere" in keys)
    found = ((line, pattern.search(line.text)) for line in beside.told())
    return next(((line, match[0]) for line, match in found if match), None)


def _last(beside: Beside, pattern: re.Pattern) -> tuple[Line, str] | None:
    found = [(line, match[1]) for line in beside.words if (match := pattern.search(line.text))]
    return found[-1] if found else None


def _all(beside: Beside, pattern: re.Pattern) -> list[str]:
    return [match[1] for line in beside.words if (match := pattern.search(line.text))]
