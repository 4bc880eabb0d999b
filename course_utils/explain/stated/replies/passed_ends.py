"""Replies that hold the end of a turn and go on behind it: generation waits for another token."""

import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log, finite

_NEXT_TURN = re.compile(  # the end of a turn, and the head of another
    r"(?P<end><\|im_end\|>|<\|eot_id\|>|<end_of_turn>|<\|end\|>|<\|eom_id\|>|<\|endofturn\|>|"
    r"<\|eot\|>)"
    r"(?:\\n|\s)*(?P<next><\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|user\|>|"
    r"<\|assistant\|>|<\|startofturn\|>|<\|header_start\|>)(?:\\n|\s)*(?P<role>\w*)"
)
_OF_REPLY = re.compile(
    r"\b(?:rollouts?|completions?|repl(?:y|ies)|responses?|generat\w+|sampled?s?|outputs?|"
    r"decoded|writes?|wrote)\b",
    re.IGNORECASE,
)
_OF_PROMPT = re.compile(
    r"\b(?:rendered|chat_template|prompts?|train(?:ing)? rows?|dataset|demonstration)\b", re.I
)
_TOOLS = re.compile(r"\btool_(?:call|response)|multi[-_ ]?turn|\bagent\w*|<observation>", re.I)
_EOS_ID = re.compile(
    r"\b(?:eos_token_id|stop_token_ids?|eos_id)['\"]?\s*(?:[=:]|is|are|->)?\s*"
    r"(?P<ids>\[[\d,\s]*\]|\d+)"
)
_EOS = re.compile(
    r"\beos_token\b(?:'s)?['\"]?(?: of (?:the )?\w+)?\s*(?:[=:]|is|->)"
    r"\s*['\"`]?(?P<token><[^\s'\"`]+>)"
)
_ASKS_EOS = re.compile(r"\w\.eos_token\b(?!_id)")
_ASKS_ID = re.compile(r"\w\.eos_token_id\b\s*(?:[,)]|$)")
_ONLY_IDS = re.compile(r"^[\[(]*\d+[\d\s,\[\]()]*$")
_ANSWERED = re.compile(r"^\W{0,3}(?P<token><[^\s'\"`]+>)")
_STOPS = re.compile(
    r"\bstop(?:_strings|_sequences|s)?['\"]?\s*[=:]\s*\[?\s*['\"](?P<token><[^'\"]+>)"
)
_IDS = {
    "<|im_end|>": {151645, 100265, 92542},
    "<|eot_id|>": {128009},
    "<|eom_id|>": {128008},
    "<end_of_turn>": {107, 106},
    "<|end|>": {32007, 200020},
    "<|eot|>": {200008},
}
NEAR = 3  # lines above a reply that say what it is
MUCH = 0.4  # a share of the replies
KNOWN, SHOWN = 9.0, 7.2
WAITS = (
    "generation does not stop at the token with which the replies end: {end} stands in a reply "
    "that is shown, and behind it another turn is written{other}. So each reply goes on to the "
    "limit, and what comes behind its answer is scored with it"
)
OTHER = ", since it waits for {}"
THE_END = (
    "make {end} the end: generation_config.eos_token_id (both ids, if the model has two) and the "
    "tokenizer's eos_token, and stop_token_ids of the sampler; neither more length nor more "
    "training changes what it waits for"
)


def goes_on_behind_its_end(beside: Beside, log: Log) -> Iterator[Finding]:
    """A reply with the end of a turn and a new turn, where replies are cut and eos is another."""
    is_supervised = log.kind() != "policy" and bool(log.values("loss"))
    found = None if is_supervised else _shown(beside, log)
    if found is None:
        return
    line, end, role = found
    waits, cut = _waits_for(beside, end), _cut(log)
    if waits is not None and not waits[0]:
        return
    is_episode = role == "tool" or bool(beside.matching(_TOOLS))
    if not (cut and waits) and (is_episode or not (cut or waits)):
        return
    name, told = waits or ("", "")
    proof = (_around(line, end), *([told] if told else []), *cut)
    why = WAITS.format(end=end, other=OTHER.format(name) if name else "")
    of = ("ends_unseen", KNOWN if waits else SHOWN, line, proof)
    yield Finding(*of, why=why, advice=THE_END.format(end=end))


def _shown(beside: Beside, log: Log) -> tuple[Line | Entry, str, str] | None:
    """A reply that goes on behind the end of a turn; not a prompt or a row of the data."""
    lines = sorted((*beside.words, *log.entries), key=place)
    for number, line in enumerate(lines):
        found = _NEXT_TURN.search(line.text)
        if not found:
            found = _over_two(line, lines[number + 1 : number + 2])
        if not found:
            continue
        above = [one.text for one in lines[max(0, number - NEAR) : number] if "<|" not in one.text]
        label = next(
            (t for t in [line.text.partition("<")[0], *reversed(above)] if _OF_REPLY.search(t)), ""
        )
        if label and not _OF_PROMPT.search(label):
            return line, found["end"], found["role"]
    return None


def _over_two(line: Line | Entry, below: list[Line | Entry]) -> re.Match | None:
    """The same over the end of a line."""
    if not below or not line.text.rstrip().endswith(">"):
        return None
    return _NEXT_TURN.search(f"{line.text.rstrip()[-40:]}\n{below[0].text[:60]}")


def _waits_for(beside: Beside, end: str) -> tuple[str, str] | None:
    """The end that generation waits for, and where that is said: "" where it is this one."""
    known, found = _IDS.get(end, set()), None
    for line, words in beside.all_matching(_EOS_ID):
        ids = {int(one) for one in re.findall(r"\d+", _EOS_ID.search(words)["ids"])}
        if ids & known or _is_named(beside, end, ids):
            return "", ""
        if ids and found is None:
            found = re.sub("['\"]", "", words), f"{line.where} says: {words}"
    for below, ids in _answered_ids(beside):
        if ids & known or _is_named(beside, end, ids):
            return "", ""
        found = found or (f"token {min(ids)}", below.says)
    tokens = [(line, _EOS.search(line.text)) for line in beside.words]
    tokens += [(line, _STOPS.search(line.text)) for line in beside.words]
    for line, token in [*((a, b["token"]) for a, b in tokens if b), *_answered(beside)]:
        if token == end:
            return "", ""
        found = found or (token, line.says)
    return found


def _is_named(beside: Beside, end: str, ids: set[int]) -> bool:
    """Whether one of these ids is said to be that of the end."""
    for line in beside.words:
        at = line.text.find(end)
        near = line.text[at : at + len(end) + 24] if at >= 0 else ""
        if ids & {int(one) for one in re.findall(r"(?<![\d.])\d{1,6}(?![\d.])", near)}:
            return True
    return False


def _answered(beside: Beside) -> Iterator[tuple[Line, str]]:
    """What a prompt of Python answers to a question for eos_token."""
    for line, below in pairwise(beside.words):
        found = _ANSWERED.search(below.text)
        if found and _ASKS_EOS.search(line.text):
            yield below, found["token"]


def _answered_ids(beside: Beside) -> Iterator[tuple[Line, set[int]]]:
    """The ids that a prompt of Python answers to a question for eos_token_id."""
    for line, below in pairwise(beside.words):
        if _ASKS_ID.search(line.text) and _ONLY_IDS.match(below.text):
            yield below, {int(one) for one in re.findall(r"\d+", below.text)}


def _cut(log: Log) -> list[str]:
    shares = finite(log.values("truncated_share"))
    if not shares or median(shares) < MUCH:
        return []
    return [f"a share of {median(shares):.3g} of the replies is cut at the limit"]


def _around(line: Line | Entry, end: str) -> str:
    at = line.text.find(end)
    return f"{line.where} shows: {line.text[max(0, at - 40) : at + 80].strip()}"
