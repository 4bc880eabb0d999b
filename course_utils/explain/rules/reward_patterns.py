"""A reward that matches tags with a dot, which takes no newline: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_DEF = re.compile(r"^\W*def (?P<name>\w+)\(|^\W*class (?P<class>\w+)\b")
_TAGS = re.compile(
    r"<(?P<tag>\w+)>(?P<edge>\\n|\\s[*+])?\(?\.[*+]\??\)?(?:\\n|\\s[*+])?</(?P=tag)>"
)
_TAKES_NEWLINE = re.compile(  # or has none left to take
    r"replace\(\s*r?['\"]\\n|splitlines\(|\.join\(.*\.split\(\)|"
    r"\bDOTALL\b|\bre\.S\b|\(\?[aimx]*s|\[\\s\\S\]|\[\\S\\s\]|\(\?:\.\|\\n\)"
)
_FEW, SURE, MOST = 3, 9.0, 40  # entries; lines of a reply
NO_DOT = (
    "the pattern of {name} can match none of the replies that it is meant for: a dot takes no "
    "newline (without re.DOTALL), and these replies have newlines between <{tag}> and </{tag}>, as "
    "{where} shows. So this part of the reward is 0 for right and wrong forms alike, and no "
    "weight, rate or prompt changes that"
)
ALLOW = (
    "re.DOTALL as a flag (or (?s) in the pattern, or [\\s\\S] for the dot); call the function by "
    "hand on one reply of the right form, which must be paid, before the next run"
)


def dot_takes_no_newline(log: Log, beside: Beside) -> Finding | None:
    """A pattern of tags without DOTALL, a reply of several lines in them, and a part that is 0."""
    lines = sorted((line for _, line in beside.lines), key=place)
    for name, block in _functions(lines):
        code = next(((one, m) for one in block if (m := _TAGS.search(one.text))), None)
        if code is None or any(_TAKES_NEWLINE.search(one.text) for one in block):
            continue
        unpaid, shown = _unpaid(log, name), _of_several_lines(lines, code[1])
        if unpaid is None or shown is None:
            continue
        entry, part, number = unpaid
        proof = (
            f"{code[0].where} says: {code[0].text.strip()[:MAX_QUOTE]}",
            f"{shown.where} has <{code[1]['tag']}> with newlines before its end",
            f"{said(entry, part)} in all {number} entries",
        )
        why = NO_DOT.format(name=name, tag=code[1]["tag"], where=shown.where)
        return Finding("constant_part", SURE, code[0], proof, why=why, advice=ALLOW)
    return None


def _functions(lines: list[Line]) -> list[tuple[str, list[Line]]]:
    """Each function with its lines: those up to the next one, which begin further in or are
    cleaned of their margin."""
    found: list[tuple[str, list[Line]]] = []
    for line in lines:
        if head := _DEF.match(line.text):
            found.append((head["name"] or head["class"], []))
        elif found:
            found[-1][1].append(line)
    return [(name, block[:25]) for name, block in found]


def _unpaid(log: Log, function: str):
    """The part of the reward that this function gives, if it is 0 in every entry."""
    for name in sorted(one for one in log.fields if one.startswith("part:")):
        series = log.series(name)
        own = name.removeprefix("part:").lower()
        is_own = own in function.lower() or function.lower() in own
        if is_own and len(series) >= _FEW and not any(value for _, value in series):
            return series[0][0], name, len(series)
    return None


def _of_several_lines(lines: list[Line], tags: re.Match) -> Line | None:
    """The last place where the tag is open at the end of its line and closed further down."""
    tag, least = tags["tag"], 2 if tags["edge"] else 1
    opens = re.compile(rf"<{tag}>(?!.*</{tag}>)")
    escaped = re.compile(rf"<{tag}>" + r"(?:(?!</).)*\\n" * least + rf"(?:(?!</).)*</{tag}>")
    for number, line in reversed(list(enumerate(lines))):
        if _TAGS.search(line.text):
            continue
        below = [one.text for one in lines[number + 1 : number + MOST]]
        inner = next((n for n, text in enumerate(below) if f"</{tag}>" in text), 0)
        if escaped.search(line.text) or (opens.search(line.text) and inner >= least):
            return line
    return None


RULES_OF_SETTINGS = (dot_takes_no_newline,)
