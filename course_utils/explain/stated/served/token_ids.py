"""One token that has other ids in one place of a log than in another."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.scores import fell

_TOKEN = r"</?\|?/?[A-Za-z][\w-]*\|?>|\[[A-Z_]{2,}\]"
_ONE = re.compile(
    rf"['\"]?(?P<token>{_TOKEN})['\"]?\s*(?:->|=>|:|=|\bid\b:?)\s*(?P<id>\d{{4,6}})\b"
)
_ASKS = re.compile(r"\b(?:convert_tokens_to_ids|encode)\(\s*(?P<list>\[.*?\]|['\"].*?['\"])")
_IDS = re.compile(
    r"(?:^|->|=>|:|=)\s*(?:Out\[\d+\]:\s*)?\[?(?P<ids>\d{3,6}(?:\s*,\s*\d{3,6})*)\]?\s*$"
)
FEWEST, SURE, SHOWN = 2, 9.2, 7.0
TWO_IDS = (
    "the same added tokens have other ids in two places ({which}): the tokenizers are not the one "
    "that was trained with, as when tokens are added anew, from a set or in another order. Each id "
    "reads and writes the row of another token"
)
SAVE_IT = (
    "load the tokenizer that was saved with the trained model at both ends (save_pretrained, and "
    "its folder), do not add the tokens again, and compare the ids of all of them; the weights "
    "are sound"
)


def other_ids(beside: Beside, log: Log) -> Iterator[Finding]:
    """Tokens that are printed with their ids twice, and not with the same ones."""
    lines = beside.words
    first: dict[str, tuple[int, Line]] = {}
    apart: list[tuple[str, tuple[int, Line], tuple[int, Line]]] = []
    for token, number, line in _shown(lines):
        before = first.setdefault(token, (number, line))
        if before[0] != number and before[1] is not line:
            apart.append((token, before, (number, line)))
    if len({token for token, _, _ in apart}) < FEWEST:
        return
    token, (one, above), (other, below) = apart[0]
    worse = fell(sorted([*lines, *log.entries], key=place))
    if not worse and not _ASKS.search(below.text):
        return  # numbers of another kind may stand beside tokens, as how often each is written
    proof = [x.says for x in (above, below)]
    why = TWO_IDS.format(which=f"{token} is {one} at {above.where} and {other} at {below.where}")
    of = ("other_tokenizer", SURE if worse else SHOWN, below, (*proof, *worse))
    yield Finding(*of, why=why, advice=SAVE_IT)


def _shown(lines: list[Line]) -> Iterator[tuple[str, int, Line]]:
    """Each token with its id."""
    for line, below in pairwise([*lines, Line("", "")]):
        for found in _ONE.finditer(line.text):
            yield found["token"], int(found["id"]), line
        if not (asked := _ASKS.search(line.text)):
            continue
        tokens = re.findall(_TOKEN, asked["list"])
        told = _IDS.search(line.text[asked.end() :]) or _IDS.match(below.text.strip())
        ids = re.findall(r"\d+", told["ids"]) if told else []
        if tokens and len(tokens) == len(ids):
            yield from ((token, int(n), line) for token, n in zip(tokens, ids, strict=True))
