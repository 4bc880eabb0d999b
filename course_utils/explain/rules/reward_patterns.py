"""A reward that matches tags with a dot, which takes no newline: `rule(log, beside)`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose

_DEF = re.compile(r"^\W*def (?P<name>\w+)\(|^\W*class (?P<class>\w+)\b")
_TAGS = re.compile(
    r"<(?P<tag>\w+)>(?P<edge>\\n|\\s[*+])?\(?\.[*+]\??\)?(?:\\n|\\s[*+])?</(?P=tag)>"
)
_FENCES = re.compile(  # ```python\n(.*?)```
    r"```(?:\(\?:)?(?P<tag>[a-z]\w*)\)?\??(?P<edge>\\n|\\s[*+])?\(\.[*+]\??\)(?:\\n|\\s[*+])?```"
)
_TAKES_NEWLINE = re.compile(  # or has none left to take
    r"replace\(\s*r?['\"]\\n|splitlines\(|\.join\(.*\.split\(\)|"
    r"\bDOTALL\b|\bre\.S\b|\(\?[aimx]*s|\[\\s\\S\]|\[\\S\\s\]|\(\?:\.\|\\n\)"
)
_CONSTANT = re.compile(r"^\W*(?P<name>[A-Z][A-Z0-9_]+)\s*=")
_MATCHES_START = re.compile(r"\b(?:re|regex)\.(?:match|fullmatch)\(\s*r?['\"]\^?\\?<")
_FEW, SURE, MOST = 2, 9.0, 40  # entries; lines of a reply
NO_DOT = (
    "the pattern of {name} can match none of the replies that it is meant for: a dot takes no "
    "newline (without re.DOTALL), and these replies have newlines between {opens} and {closes}, as "
    "{where} shows. So this part of the reward is 0 for right and wrong replies alike, and no "
    "weight, rate or prompt changes that"
)
ALLOW = (
    "re.DOTALL as a flag (or (?s) in the pattern, or [\\s\\S] for the dot); call the function by "
    "hand on one reply of the right form, which must be paid, before the next run"
)
WITHIN = "with newlines before its end"
NOT_AT_ITS_START = (
    "the pattern of {name} can match none of the replies that it is meant for: re.match (as "
    "fullmatch) begins at the first sign of a reply, and {opens} stands further in, as {where} "
    "shows. So this part of the reward is 0 for right and wrong replies alike, and no weight, rate "
    "or prompt changes that"
)
BEHIND = "behind another tag"
SEARCH = (
    "re.search in place of re.match; call the function by hand on one reply of the right form, "
    "which must be paid, before the next run"
)


@dataclass(frozen=True)
class _Tags:
    """What a pattern looks between, and how many newlines a reply has there at least that it
    cannot match."""

    opens: str
    closes: str
    least: int


def _tags(text: str) -> _Tags | None:
    """
    >>> _tags(r"<a>(.*)</a>"), _tags(r"```python\\n(.*?)```")
    (_Tags(opens='<a>', closes='</a>', least=1), _Tags(opens='```python', closes='```', least=2))
    """
    if found := _TAGS.search(text):
        tag = found["tag"]
        return _Tags(f"<{tag}>", f"</{tag}>", 2 if found["edge"] else 1)
    found = _FENCES.search(text)
    return _Tags(f"```{found['tag']}", "```", 2 if found["edge"] else 1) if found else None


def dot_takes_no_newline(log: Log, beside: Beside) -> Finding | None:
    """A pattern of tags without DOTALL, a reply of several lines in them, and a part that is 0."""
    lines = sorted((line for line in beside.words), key=place)
    functions = _functions(lines)
    for code, tags, users in _patterns(lines, functions):
        unpaid = next((one for name in users if (one := _unpaid(log, name))), None)
        used = (code, *_lines_of(users, functions))
        takes_newline = any(_TAKES_NEWLINE.search(one.text) for one in used)
        shown = None if takes_newline else _of_several_lines(lines, tags)
        fault, mend = NO_DOT, ALLOW
        if shown is None and _MATCHES_START.search(code.text):
            shown, fault, mend = _behind_other_tags(lines, tags), NOT_AT_ITS_START, SEARCH
        if unpaid is None or shown is None:
            continue
        entry, part, number = unpaid
        proof = (
            code.says,
            f"{shown.where} has {tags.opens} {BEHIND if mend is SEARCH else WITHIN}",
            f"{said(entry, part)} in all {number} entries",
        )
        why = fault.format(**vars(tags), name=users[0], where=shown.where)
        return Finding("constant_part", SURE, code, proof, why=why, advice=mend)
    return None


def _patterns(lines: list[Line], functions: list) -> Iterator[tuple[Line, _Tags, list[str]]]:
    """Each pattern of tags with the functions that use it: the one it stands in, those that name
    it, and those that call one of these."""
    inside = {line.where: name for name, block in functions for line in block}
    for line in lines:
        if not (tags := _tags(line.text)) or is_prose(line.text):
            continue
        constant, owner = _CONSTANT.match(line.text), inside.get(line.where)
        used = [constant["name"]] if constant else []
        used += [owner] if owner and not constant else []
        users = [owner] if owner and not constant else []
        for name in used:  # it grows while it is read
            for other, block in functions:
                names = re.compile(rf"\b{re.escape(name)}\b")
                if other not in users and any(names.search(one.text) for one in block):
                    users.append(other)
                    used.append(other)
        if users:
            yield line, tags, users


def _lines_of(users: list[str], functions: list) -> list[Line]:
    return [line for name, block in functions if name in users for line in block]


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
        if is_own and len(series) >= _FEW and all(value == 0 for _, value in series):
            return series[0][0], name, len(series)
    return None


def _of_several_lines(lines: list[Line], tags: _Tags) -> Line | None:
    """The last place where the tag is open at the end of its line and closed further down."""
    opening, closing = re.escape(tags.opens), re.escape(tags.closes)
    opens = re.compile(rf"{opening}(?!.*{closing})")
    inner_text = rf"(?:(?!{closing}).)*"
    escaped = re.compile(opening + rf"(?:(?!{closing}).)*\\n" * tags.least + inner_text + closing)
    for number, line in reversed(list(enumerate(lines))):
        if _tags(line.text):
            continue
        below = [one.text for one in lines[number + 1 : number + MOST]]
        inner = next((n for n, text in enumerate(below) if tags.closes in text), 0)
        if escaped.search(line.text) or (opens.search(line.text) and inner >= tags.least):
            return line
    return None


def _behind_other_tags(lines: list[Line], tags: _Tags) -> Line | None:
    """A reply that closes another tag, and then opens this one."""
    other = re.compile(rf"(?!{re.escape(tags.closes)})</\w+>")
    for number, line in reversed(list(enumerate(lines))):
        if _tags(line.text) or tags.opens not in line.text:
            continue
        above = [*(one.text for one in lines[max(0, number - 2) : number]), line.text]
        if other.search(" ".join(above).rpartition(tags.opens)[0]):
            return line
    return None


RULES_OF_SETTINGS = (dot_takes_no_newline,)
