"""Log lines as entries: which field had which number, on which line.

Reads what trainers print and save: Python dicts and JSON lines (Transformers, TRL, ms-swift,
LLaMA-Factory), `key:value - key:value` (verl), `key: value  key: value` (torchtune),
`key=value` at the end of a progress bar (OpenRLHF), tables (notebooks, unsloth), CSV. Holds one
line at a time.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from course_utils.explain.fields import canonical
from course_utils.explain.lines import is_cut, parts
from course_utils.explain.tables import NUMBER, Table

_WRAPPED = rf"(?:[\w.]+\()?['\"]?(?P<value>{NUMBER})(?:/\d+)?['\"]?(?:, dtype=[\w.]+\))?\)?"
QUOTED = re.compile(rf"['\"](?P<name>[^'\"{{}}]{{1,80}})['\"]\s*:\s*{_WRAPPED}(?=\s*[,}}\]]|\s*$)")
_AFTER = r"(?:\s*\([^()]*\))?\**(?=\s+-\s|\s*$|\s{2,}|\s+[\w@./-]+:|\s*[|│,])"
DASHED = re.compile(rf"(?:^|[\s*|│])(?P<name>[\w@./-]+):\s*(?P<value>{NUMBER}){_AFTER}")
BOXED = re.compile(rf"[|│]\s*(?P<name>[\w/ ]+?)\s*[|│]\s*(?P<value>{NUMBER})\s*[|│]")
EQUALS = re.compile(rf"(?<![\w/])(?P<name>[A-Za-z_][\w/]*)\s?=\s?(?P<value>{NUMBER})(?![\w/.])")
PLAIN = re.compile(
    r"(?<![\w/])(?P<name>(?:(?:train(?:ing)?|eval|val(?:idation)?|minibatch) )?loss|grad[_ ]?norm|"
    r"step|iter|epoch|lr|learning[_ ]rate|"
    r"(?:avg |mean )?(?:reward|kl|entropy|grad norm))\s*[:=]?\s+"
    rf"(?P<value>{NUMBER})(?![\w/.%])",
    re.IGNORECASE,
)
PROSE = re.compile(
    r"\b(the|is|was|but|and|my|it|i|you|that|this|then|with|not|to|from|after|about|we|a|has)\b",
    re.IGNORECASE,
)
BRACES = re.compile(r"\{[^{}]*\}")
SUMMARY = {"train_runtime", "total_flos", "train_samples_per_second"}
MAX_QUOTE, MAX_OF_A_BLOCK = 160, 5


@dataclass(frozen=True)
class Entry:
    """The numbers of one log entry under their names here, and where they stood."""

    where: str
    text: str
    numbers: dict[str, float]
    names: dict[str, str] = field(default_factory=dict)  # the log's own words for them


@dataclass(frozen=True)
class Line:
    """A line that holds no numbers of a log entry, for those who look for words."""

    where: str
    text: str


def read(lines: Iterable[str]) -> Iterator[Entry | Line]:
    """Every entry and every other line, in order; nothing is kept but a table's header."""
    return _blocks(_read(lines))


def _read(lines: Iterable[str]) -> Iterator[Entry | Line]:
    table = Table(canonical)
    for joined in parts(lines):
        where, text = f"line {joined[0][0]}", "".join(text for _, text in joined)
        row = table.feed(text)
        if row == []:
            continue
        found = list(entries_of_row(where, text, row or ())) or list(_entries(where, text))
        yield from found
        if not found:
            said = joined
        else:  # a message may stand beside the numbers
            is_long = "{" in text or len(text) > MAX_QUOTE
            said = [(joined[0][0], BRACES.sub(" ", text))] if is_long else []
        yield from (Line(f"line {n}", one.strip()) for n, one in said if one.strip())


def _blocks(found: Iterable[Entry | Line]) -> Iterator[Entry | Line]:
    """Put together what stands in a block of lines, a few numbers to a line."""
    held: Entry | None = None
    for one in found:
        is_small = isinstance(one, Entry) and len(one.numbers) <= MAX_OF_A_BLOCK and _is_bare(one)
        if held and is_small and not one.numbers.keys() & held.numbers.keys():
            held = Entry(held.where, held.text, held.numbers | one.numbers, held.names | one.names)
            continue
        if held and _has_metric(held):
            yield held
        held = None
        if is_small:
            held = one
        else:
            yield one
    if held and _has_metric(held):
        yield held


def _is_bare(entry: Entry) -> bool:
    """Whether the numbers stand in no dict, so that more of them may follow below."""
    return "{" not in entry.text


def _entries(where: str, text: str) -> Iterator[Entry]:
    """The entries of one line; a progress bar may have left several on it."""
    groups = [group for group in BRACES.findall(text) if QUOTED.search(group)] or [text]
    is_quoted = False
    for group in groups:
        matches = list(QUOTED.finditer(group))
        is_quoted = is_quoted or bool(matches)
        if is_cut(group):
            matches = [m for m in matches if m.end() < len(group.rstrip())]
        yield from entries_of_row(where, group, [(m["name"], m["value"]) for m in matches])
    if is_quoted or len({word.lower() for word in PROSE.findall(text)}) >= 2:
        return
    for pattern in (BOXED, DASHED, EQUALS, PLAIN):
        pairs = [(m["name"], m["value"]) for m in pattern.finditer(text)]
        is_boxed = pattern is BOXED  # one number to a line: the others follow
        found = list(entries_of_row(where, text, pairs, needs_metric=not is_boxed))
        if found:
            yield from found
            return


def entries_of_row(
    where: str, text: str, pairs: Iterable[tuple[str, object]], needs_metric: bool = True
) -> Iterator[Entry]:
    """One entry, or none when no rule reads any of its numbers, or they sum up a whole run."""
    numbers: dict[str, float] = {}
    names: dict[str, str] = {}
    for name, value in pairs:
        if name in SUMMARY:
            return
        known = canonical(str(name))
        number = _number(value)
        if known and number is not None and known not in numbers:
            numbers[known], names[known] = number, str(name).strip()
    entry = Entry(where, _short(text), numbers, names)
    if numbers and (_has_metric(entry) or not needs_metric):
        yield entry


def _has_metric(entry: Entry) -> bool:
    return bool(entry.numbers.keys() - {"step", "epoch", "learning_rate", "loss_scale"})


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(str(value).strip().split("/")[0])
    except ValueError:
        return None


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 3]}..."
