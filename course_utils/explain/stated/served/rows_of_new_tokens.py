"""What printed numbers show of added tokens: rows as they were, and the loss of a guess."""

import math
import re
from collections.abc import Iterator, Sequence

from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log

_TOKEN = re.compile(r"^\W{0,3}?(?P<token></?\|?/?[\w-]+\|?>|\[/?[A-Z_]+\])")
_TAG = re.compile(r"</?\|?/?[A-Za-z][\w-]*\|?>")
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.])")
_BEFORE = re.compile(r"\b(?:step 0|before|init\w*|start|first)\b", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:end|after|final|last|now|trained)\b", re.IGNORECASE)
_OF_TOKENS = re.compile(
    r"\b(?:new|added|special|extra)?_?tok\w*|\btags?\b|</?\|?/?[a-z]", re.IGNORECASE
)
_COUNT = (
    re.compile(
        r"\b(?P<n>\d{1,3}) (?:new|added|extra|own|special|control)\b.{0,12}?\b(?:tok\w*|tags?\b)",
        re.I,
    ),
    re.compile(r"\bone of the (?P<n>\d{1,3})\b"),
)
_IDS = re.compile(r"\bids?\b\W{1,3}(?P<low>\d{4,6})\s*(?:\.\.+|-|to)\s*(?P<high>\d{4,6})")
_ADDED = re.compile(
    r"\b(?:add\w*|new|additional|special)\w*\b.*(?:</?\|?/?\w[\w-]*\|?>)", re.IGNORECASE
)
_OWN_LOSS = re.compile(r"(</?\w[\w|-]*>|\[/?[A-Z_]+\])\W{1,3}(\d+\.\d+)")
_LAST = re.compile(r"(?<![\w.])(\d+\.\d+)\W*$")
_OTHERS = re.compile(r"\b(?:other\w*|everything but|rest|all but|without)\b", re.IGNORECASE)
RARE, USUAL = 6.0, 3.0  # nats
FEW, NEAR_LN_2 = 3, 0.01  # entries; of it
NEAR, FELL, FEWEST, LAST, MOST = 0.016, 1.2, 4, 3, 200  # of a guess; times; rows; rows; tokens


def rows_as_they_were(parts: Sequence[Line | Entry]) -> list[str]:
    """A table with one row for a token, whose numbers at the end are those of the start."""
    for number, head in enumerate(parts):
        if not (_BEFORE.search(head.text) and _AFTER.search(head.text)):
            continue
        rows = []
        for line in parts[number + 1 :]:
            if not _TOKEN.match(line.text):
                break
            rows.append((line, _DECIMAL.findall(_TOKEN.sub("", line.text))))
        if len(rows) > 1 and all(_in_pairs(values) for _, values in rows):
            return [
                f"{rows[0][0].where} to {rows[-1][0].where}: the sizes of these rows at the end "
                f"are those of the start ({rows[0][1][0]} and {rows[0][1][1]} for the first)"
            ]
    return []


def _in_pairs(values: list[str]) -> bool:
    """Whether each second number is the one before it."""
    return bool(values) and len(values) % 2 == 0 and values[::2] == values[1::2]


def at_a_guess(parts: Sequence[Line | Entry]) -> list[str]:
    """A loss on the added tokens that falls to ln of their number, and stays there."""
    counts = sorted(_numbers(parts))
    for block in _blocks(parts):
        for column in range(len(block[0][1])):
            values = [float(row[1][column]) for row in block]
            if n := next((n for n in counts if _ends_at(values, math.log(n))), 0):
                (first, _), (last, _) = block[0], block[-1]
                return [
                    f"the loss on these tokens falls from {values[0]:g} ({first.where}) to "
                    f"{values[-1]:g} ({last.where}) and stays: ln {n} = {math.log(n):.3f}, a guess "
                    f"among the {n} of them"
                ]
    return []


def hardly_likely(parts: Sequence[Line | Entry]) -> list[str]:
    """Rows named after tokens with a loss of many nats, below a row of the others with a small
    one."""
    rows = [(part, _LAST.search(part.text)) for part in parts if _DECIMAL.search(part.text)]
    own = [(x, float(m[1])) for x, m in rows if m and _TOKEN.match(x.text.strip())]
    others = [(x, float(m[1])) for x, m in rows if m and _OTHERS.search(x.text)]
    few = [(x, value) for x, value in others if value < USUAL]
    if len(own) < 2 or not few or min(value for _, value in own) < RARE:
        return []
    (first, low), (line, rest) = min(own, key=lambda one: one[1]), few[0]
    return [
        f"the loss on these tokens is {low:g} nats and more ({first.where}), beside {rest:g} on "
        f"the others ({line.where}): they have next to no probability"
    ]


def two_at_a_guess(log: Log) -> list[str]:
    """Two marks whose own loss stays at ln 2, that of a guess between two, to the end."""
    rows = [(entry, dict(_OWN_LOSS.findall(entry.text))) for entry in log.entries]
    rows = [(entry, some) for entry, some in rows if len(some) > 1]
    last = rows[len(rows) // 2 :]
    names = (
        [n for n in last[0][1] if all(_is_ln_2(some.get(n)) for _, some in last)] if last else []
    )
    if len(last) < FEW or len(names) != 2:
        return []
    own = " and ".join(f"{name} {last[-1][1][name]}" for name in names)
    return [
        f"{last[0][0].where} on: the loss of both tokens stays at ln 2 = 0.693, that of a guess "
        f"between two ({own} at {last[-1][0].where})"
    ]


def _is_ln_2(value: str | None) -> bool:
    return value is not None and abs(float(value) - math.log(2)) < NEAR_LN_2


def _ends_at(values: list[float], guess: float) -> bool:
    stays = values[-max(LAST, len(values) // 3) :]
    return values[0] > FELL * guess and all(abs(value - guess) < NEAR for value in stays)


def _numbers(parts: Sequence[Line | Entry]) -> set[int]:
    """How many tokens were added, as it is said or listed."""
    found = {int(m["n"]) for x in parts for one in _COUNT for m in one.finditer(x.text)}
    for part in parts:
        if ids := _IDS.search(part.text):
            found.add(int(ids["high"]) - int(ids["low"]) + 1)
        if _ADDED.search(part.text):
            found.add(len(set(_TAG.findall(part.text))))
    return {n for n in found if 1 < n < MOST}


def _blocks(parts: Sequence[Line | Entry]) -> Iterator[list[tuple[Line | Entry, list[str]]]]:
    """Rows one below the other with as many decimals each, that speak of tokens or stand below
    a head which does."""
    block: list[tuple[Line | Entry, list[str]]] = []
    head = ""
    for part in parts:
        values = _DECIMAL.findall(part.text)
        if block and len(values) == len(block[0][1]):
            block.append((part, values))
            continue
        if len(block) >= FEWEST and _OF_TOKENS.search(f"{head} {block[0][0].text}"):
            yield block
        head = block[-1][0].text if block else head
        if not values:
            block, head = [], part.text
        else:
            block = [(part, values)]
    if len(block) >= FEWEST and _OF_TOKENS.search(f"{head} {block[0][0].text}"):
        yield block
