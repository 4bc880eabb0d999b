"""Groups whose replies are all one, since a cache answers the same request again:
`rule(log, beside)`."""

import re
from collections.abc import Iterator
from itertools import groupby
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log, finite

_OF_A_REPLY = re.compile(
    r"/v1/(?:chat/)?completions|/generate\b|\bcompletions?\b|\bsample\b", re.IGNORECASE
)
_TOOK = re.compile(r"(?<![\w.])(?P<n>\d+(?:\.\d+)?) ?(?P<unit>ms|s)\b")
_LENGTH = re.compile(
    r"\b(?:out(?:put)?|completion|gen\w*)(?:_?tok\w*|_?len\w*)?\s*[=:]\s*(?P<n>\d+)", re.I
)
_HIT = re.compile(
    r"\b(?:x-)?(?:response|semantic|request|prompt|llm)?[-_ ]?cache(?:d|_hit|-status)?\W{1,4}"
    r"(?:hit|true)\b",
    re.IGNORECASE,
)
_IN_GROUP = re.compile(
    r"\b\w*std_(?:in|within|per)_group\w*\W{1,3}(?P<n>-?\d+(?:\.\d+)?(?:e-?\d+)?)", re.IGNORECASE
)
FEW, TIMES, SHORTEST = 3, 20, 8  # rows; as fast; tokens of a reply that takes its time
CACHED = (
    "the replies of a group are one and the same: the first request for a prompt is answered by "
    "the model ({slow:g} ms for {tokens} tokens) and the {count} that follow by a cache ({fast:g} "
    "ms, too fast to write as many tokens), which returns the same reply. So the rewards of a "
    "group are equal, its advantages are 0, and no step teaches anything, at any rate"
)
SWITCH_OFF = (
    "switch the cache of responses off for rollouts (a header or a setting of the gateway), or "
    "give each request something of its own (a seed, n in one request); a cache of prefixes inside "
    "the engine may stay. Count the different replies of a group"
)


def answered_by_a_cache(log: Log, beside: Beside) -> Finding | None:
    """Equal requests of which the first takes its time and the others next to none."""
    parts = [*(line for line in beside.words)]
    dead = _no_spread(log, [*parts, *log.entries])
    for block in _blocks(parts):
        tokens = {length for _, _, length in block}
        (first, slow, length), rest = block[0], [took for _, took, _ in block[1:]]
        if len(rest) < FEW or len(tokens) > 1 or length < SHORTEST:
            continue
        if slow < TIMES * max(rest) or not dead:
            continue
        second = block[1][0]
        proof = (
            first.says,
            f"{second.where} on: {second.text.strip()[:MAX_QUOTE]}",
            *_hits(parts),
            *dead,
        )
        words = {"slow": slow, "tokens": length, "count": len(rest), "fast": median(rest)}
        why = CACHED.format(**words)
        return Finding("no_signal", 9.0, first, proof, why=why, advice=SWITCH_OFF)
    return None


def _blocks(lines: list[Line]) -> Iterator[list[tuple[Line, float, int]]]:
    """Rows of requests that stand together, each with its time in ms and its tokens."""
    rows = [(line, _request(line)) for line in lines]
    for is_request, group in groupby(rows, key=lambda row: row[1] is not None):
        if is_request:
            yield [(line, *found) for line, found in group if found]


def _request(line: Line) -> tuple[float, int] | None:
    took, length = _TOOK.search(line.text), _LENGTH.search(line.text)
    if not took or not length or not _OF_A_REPLY.search(line.text):
        return None
    return float(took["n"]) * (1000 if took["unit"] == "s" else 1), int(length["n"])


def _hits(lines: list[Line]) -> list[str]:
    found = next((line for line in lines if _HIT.search(line.text)), None)
    return [found.says] if found else []


def _no_spread(log: Log, parts: list) -> list[str]:
    """A spread within groups that is 0 wherever it is shown."""
    shown = [(part, float(m["n"])) for part in parts if (m := _IN_GROUP.search(part.text))]
    shown = shown or log.series("reward_std")
    if len(shown) < FEW or any(value for _, value in shown):
        shares = finite(log.values("zero_std_share"))
        return [f"groups without a spread: {min(shares):.3g} at least"] if _all(shares) else []
    where = shown[0][0].where
    return [f"the spread of the rewards within a group is 0 in all {len(shown)} rows, from {where}"]


def _all(shares: list[float]) -> bool:
    return len(shares) >= FEW and min(shares) > 0.99


RULES_OF_SETTINGS = (answered_by_a_cache,)
