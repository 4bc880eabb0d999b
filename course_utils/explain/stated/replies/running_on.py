"""Replies that do not end: by count, by their mean length or in words."""

import re
from collections.abc import Iterator

from course_utils.explain.messages.complaints import COMPLAINTS
from course_utils.explain.paste.entries import Line, plain_number

_AT_LIMIT = re.compile(
    r"\b(?P<some>\d[\d,]*) (?:of|/|out of) (?P<all>\d[\d,]*)\b.{0,30}\b(?:hit|reach\w*|at|run to) "
    r"(?:the )?(?:limit|max\w*|\d{2,})|\bat (?:the )?limit\b.*?(?P<percent>\d{1,3}) ?%",
    re.IGNORECASE,
)
_FULL = re.compile(
    r"\b(?:mean|average|median)\b.{0,20}\btokens\b\W{0,4}(?P<n>\d+(?:\.\d+)?)", re.IGNORECASE
)
_MOST_NEW = re.compile(r"\bmax_(?:new_)?tokens['\"]?\W{1,3}(?P<n>\d+)", re.IGNORECASE)
_GOES_ON = re.compile(
    r"\bgoes on\b|\band so on\b|\bnew tokens (?P<n>\d+)\b|finish_?(?:reason)?\W{1,4}length|"
    r"\bnever (?:ends?|finish\w*|emits?|shuts? up)\b|(?: not|n't) (?:shut up|end|finish)\b|"
    r"(?: not|n't) know (?:when|where|how) to (?:stop|end|shut up)\b|"
    r"\bkeeps? (?:on )?(?:going|talking|writing)\b|\b(?:rambl\w+|runs? on|endless\w*)\b|"
    r"\b(?:infinite|never[- ]ending) (?:generation|loop|output|text|repl\w+)|"
    r"\b(?:exactly|(?:runs?|goes) (?:up )?to) max_(?:new_)?tokens\b",
    re.IGNORECASE,
)
_ALL_FULL = re.compile(  # "each reply has exactly 256 tokens", [256, 256, 256]
    r"\b(?:all|every|each|always|exactly)\b[^.\n]{0,50}?\b(?P<n>\d{2,5})(?: new)?(?: tokens?)?\b|"
    r"\bmin\w*\W{1,3}(?P<k>\d{2,5})\b.{0,30}\bmax\w*\W{1,3}(?P=k)\b|"
    r"[\[({]\s*(?P<m>\d{2,5})(?:\s*,\s*(?P=m)){2,}\s*[\])}]",
    re.IGNORECASE,
)
_ENDED = re.compile(  # "finished with eos: 3 of 200"
    r"\b(?:finished|ended|stopped|stops?|ends?) (?:with|by|at|on) (?:the )?(?:eos|end)\w*\W{1,3}"
    r"(?P<some>\d+) ?(?:/|of|out of) ?(?P<all>\d+)",
    re.IGNORECASE,
)
OFTEN, FULL, RARELY = 0.5, 0.95, 0.2  # of the replies, of a limit


def runs_on(lines: list[Line]) -> Iterator[Line]:
    """Replies that reach their limit, by count, by their mean length or in words."""
    limits = {float(m["n"]) for line in lines for m in _MOST_NEW.finditer(line.text)}
    never_stops = next(one for one, keys in COMPLAINTS if "pad_is_eos" in keys)
    for line in lines:
        ended = _ENDED.search(line.text)
        if ended and int(ended["some"]) > RARELY * int(ended["all"]):
            continue
        told = ended or never_stops.search(line.text) or _goes_on(line, limits)
        told = told or any(_number(m) in limits for m in _ALL_FULL.finditer(line.text))
        if told or _reaches(line, limits):
            yield line


def _number(found: re.Match) -> float:
    return float(next(filter(None, found.groups())))


def _reaches(line: Line, limits: set[float]) -> bool:
    """Whether most replies, or their mean, reach the limit."""
    found, full = _AT_LIMIT.search(line.text), _FULL.search(line.text)
    mean = float(full["n"]) if full else 0.0
    return bool(found and _share(found) > OFTEN) or any(FULL * x <= mean <= x for x in limits)


def _goes_on(line: Line, limits: set[float]) -> bool:
    found = _GOES_ON.search(line.text)
    return bool(found) and (not found["n"] or float(found["n"]) in limits)


def _share(found: re.Match) -> float:
    if found["percent"]:
        return float(found["percent"]) / 100
    some, whole = (plain_number(found[name]) for name in ("some", "all"))
    return some / whole if 0 < some <= whole else 0.0
