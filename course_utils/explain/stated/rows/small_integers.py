"""Token ids that are kept in an integer type which ends below the vocabulary."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_KEPT = re.compile(
    r"(?:(?:astype|\.to|\.type|memmap|array|zeros|empty|full|view|frombuffer)\(|\bdtype\s*=\s*)"
    r"[^#]*?(?<![\w])(?:\w+\.)?['\"<]?(?P<type>u?int16|u2|i2|short)\b"
)
_OF_IDS = re.compile(
    r"\b(?:\w*ids?|\w*tok(?:en)?s?|ix|idx|ind(?:ices|s)?|top_?k?\w*|arr|data|buf\w*|shard\w*)\b",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"audio|wav\w*|pcm|speech|sound|pixel|image|depth|label|position|length|count", re.IGNORECASE
)
_ASKS = re.compile(r"\bif\b|\belse\b|\bassert\b.*(?:vocab|max\()|65_?535|65_?536|2 ?\*\* ?16")
_VOCABULARY = re.compile(
    r"\b(?:vocab\w*|lm_head|len\(tok\w*\))\D{0,24}(?P<size>\d{5,6}|\d{2,3}[_,]\d{3})\b", re.I
)
_FAMILY = re.compile(
    r"\b(?P<name>qwen-?[23](?:\.5)?|qwen1\.5|llama-?3(?:\.[123])?|gemma-?[1-3]?|gpt-?oss|"
    r"deepseek-v[23]|phi-?4)(?=[-\w.]*\b)",
    re.IGNORECASE,
)
_MAXIMUM = re.compile(r"\bmax\w*\b\W{0,6}(?P<value>65535|32767)\b")
_MINIMUM = re.compile(r"\bmin\w*\b\W{0,6}-(?P<value>32768|\d{4,5})\b")
_ROW = re.compile(r"^\W*(?P<name>[A-Za-z][\w .-]*?)\W+(?P<ids>\d+(?:[\s,]+\d+){3,})\W*$")
ENDS = {"uint16": 65_536, "u2": 65_536}  # others end at half of it
FEW, SHOWN, SAID = 2, 9.3, 8.0  # ids that are apart by the size of the type
WRAP = (
    "token ids are kept as {type}, which ends at {last}, and the vocabulary goes on above it: "
    "larger ids wrap round to other tokens. Texts of frequent, low ids come through; those of "
    "languages and signs with higher ids are learnt as other words"
)
WIDER = (
    "keep ids as int32 or uint32 and make the file anew from the texts or the teacher (what was "
    "cut off is not in it), see that the largest id of it is above {last}, and train again"
)


def ids_cut(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that keeps ids in 16 bits, and a vocabulary or ids that do not fit."""
    lines = beside.words
    kept = next(_kept(lines), None)
    if kept is None:
        return
    line, kind = kept
    ends = ENDS.get(kind, 32_768)
    shown = [*_apart(lines), *_at_the_end(lines)]
    vocabulary = _above(lines, ends)
    if vocabulary is None and not _apart(lines):
        return
    proof = [line.says, *(vocabulary or ()), *shown]
    names = {"type": kind, "last": ends - 1}
    of = ("ids_wrapped", SHOWN if shown else SAID, line, tuple(proof))
    yield Finding(*of, why=WRAP.format(**names), advice=WIDER.format(**names))


def _kept(lines: list[Line]) -> Iterator[tuple[Line, str]]:
    """Lines of code that keep ids in 16 bits without asking whether they fit."""
    for line in lines:
        found = _KEPT.search(line.text)
        if found is None or is_prose(line.text) or _OF_OTHERS.search(line.text):
            continue
        if _ASKS.search(line.text):
            continue
        if _OF_IDS.search(line.text):
            yield line, found["type"]


def _above(lines: list[Line], ends: int) -> tuple[str, ...] | None:
    """What names a vocabulary that is larger; None if nothing does, or only smaller ones."""
    for line in lines:
        for found in _VOCABULARY.finditer(line.text):
            if int(re.sub(r"\D", "", found["size"])) > ends:
                return (f"{line.where} says: {found[0]}",)
    if any(_VOCABULARY.search(line.text) for line in lines):
        return None
    for line in lines:
        if found := _FAMILY.search(line.text):
            return (
                f"{line.where} names {found['name']}, whose vocabulary has more than 100000 tokens",
            )
    return None


def _apart(lines: list[Line]) -> list[str]:
    """Two rows of ids, of which some are apart by exactly the size of the type."""
    rows = [(line, found) for line in lines if (found := _ROW.match(line.text))]
    for (line, one), (other, two) in pairwise(rows):
        pairs = [*zip(*(map(int, re.findall(r"\d+", x["ids"])) for x in (one, two)), strict=False)]
        apart = [pair for pair in pairs if pair[0] != pair[1] and not (pair[0] - pair[1]) % 65_536]
        if len(apart) >= FEW:
            said = "; ".join(f"{first} and {second}" for first, second in apart[:3])
            where = f"{line.where} and {other.where}"
            return [f"{where}: ids that are apart by 65536 or a multiple of it: {said}"]
    return []


def _at_the_end(lines: list[Line]) -> list[str]:
    """A largest id that is the last of the type, or an id below 0."""
    for line in lines:
        if found := _MAXIMUM.search(line.text) or _MINIMUM.search(line.text):
            return [f"{line.where} says: {found[0]}"]
    return []
