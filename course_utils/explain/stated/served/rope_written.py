"""A base of rotary positions that one version writes where another does not look for it."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.side_tables import side_tables

_INSIDE = re.compile(r"\brope_parameters['\"]?\s*[:=]\s*\{?")
_THETA = re.compile(r"\brope_theta['\"]?\s*[:=]\s*(?P<value>\d[\d_]*(?:\.\d+)?(?:e\+?\d+)?)")
_SCALED = re.compile(
    r"\brope_type['\"]?\s*[:=]\s*['\"](?!default)(?P<how>\w+)|\bfactor['\"]?\s*[:=]\s*[2-9]"
)
_VERSION = re.compile(
    r"(?<![\w-])(?P<of>transformers(?:[_ -]version)?['\"]?\s*(?:[:=]|==|~=|>=)?\s*['\"]?v?)"
    r"(?P<major>\d)\.(?P<rest>\d+[\w.]*)",
    re.IGNORECASE,
)
_ENGINE = re.compile(r"\bvllm['\"]?\s*(?:[:=]|==)?\s*['\"]?v?0\.(?P<minor>\d+)\.\d+", re.IGNORECASE)
_LENGTH = re.compile(
    r"^\W*(?:n|len\w*|ctx|context\w*|tokens?|seq\w*|position\w*|cut)\b[\w ]*$", re.I
)
DEFAULT, NEW, KNOWS = 10_000.0, 5, 12  # of rope_theta; of Transformers; of vLLM 0.x
FEWEST, OPENS, ALIKE = 3, 3.0, 2.0  # rows; times the other at the end, and at the beginning
NOT_READ = (
    "the model's config.json has the base of the positions inside of rope_parameters, where "
    "Transformers {new} writes it; Transformers {old} looks for rope_theta beside the other "
    "settings, finds none, and takes its default{scaling}. The weights are right to the last bit, "
    "and each token is read at a wrong distance, the worse the longer the text"
)
TAKES = " (mostly 10000, where this model has {theta})"
UNSCALED = TAKES + ", without the {how} scaling"
WRITE_BOTH = (
    'write "rope_theta": {theta}{scaling} into config.json beside the other settings, as the '
    "hub's own file has it, or serve with a version that reads rope_parameters; nothing has to be "
    "merged or trained again"
)


def base_not_read(beside: Beside, log: Log) -> Iterator[Finding]:
    """A base inside of rope_parameters alone, and two versions, of which one does not know it."""
    written = _written(beside)
    if written is None:
        return
    line, theta, how = written
    if float(theta.replace("_", "")) == DEFAULT and not how:
        return
    versions = [(at, m) for at in beside.words for m in _VERSION.finditer(at.text)]
    new = next(((at, m) for at, m in versions if int(m["major"]) >= NEW), None)
    read = [(at, m) for at, m in versions if "version" not in m["of"].lower()]
    old = next(((at, m) for at, m in read if m["major"] == "4"), None)
    engine = beside.matching(_ENGINE)
    knows = engine is not None and int(_ENGINE.search(engine[1])["minor"]) >= KNOWS
    if new is None or old is None or knows:
        return
    parted = _parts_with_length(beside)
    proof = (
        f"{line.where}: rope_theta {theta} stands inside of rope_parameters, and nowhere beside it",
        *(f"{at.where} says: {m[0]}" for at, m in (new, old)),
        *parted,
    )
    of = {"theta": theta, "how": how}
    why = NOT_READ.format(
        new=f"{new[1]['major']}.{new[1]['rest']}",
        old=f"{old[1]['major']}.{old[1]['rest']}",
        scaling=(UNSCALED if how else TAKES).format(**of),
    )
    advice = WRITE_BOTH.format(theta=theta, scaling=" and rope_scaling {...}" if how else "")
    against = () if parted else ("no number by length is read beside it, which would show it",)
    weight = 9.0 if parted else 7.4
    yield Finding("merged_not_equal", weight, line, proof, against, why=why, advice=advice)


def _written(beside: Beside) -> tuple[Line, str, str] | None:
    """The base that a config has inside of rope_parameters and not beside it, and its scaling."""
    found: tuple[Line, str] | None = None
    how, depth = "", 0
    for line in beside.words:
        if _is_removed(line):
            continue
        opened = _INSIDE.search(line.text)
        text = line.text[opened.start() :] if opened else line.text
        is_inside = bool(opened) or depth > 0
        if is_inside and (scaled := _SCALED.search(text)):
            how = scaled["how"] or how or "position"
        theta = _THETA.search(text)
        if theta and not is_inside:
            return None
        found = (line, theta["value"]) if theta and found is None else found
        depth = max(0, depth + text.count("{") - text.count("}")) if is_inside else 0
    return (*found, how) if found else None


def _is_removed(line: Line) -> bool:
    """Whether a line of a diff is of the old file alone."""
    return bool(re.match(r"\s*-\s*\"", line.text))


def _parts_with_length(beside: Beside) -> list[str]:
    """A table in which two readings of one text begin alike and part with its length."""
    for table in side_tables(beside):
        rows = [(line, [_number(cell) for cell in row]) for line, row in table.rows]
        numbers = [(line, [one for one in row if one is not None]) for line, row in rows]
        if len(numbers) < FEWEST or min(len(row) for _, row in numbers) < 3:
            continue
        lengths = [row[0] for _, row in numbers]
        (first, low), (last, high) = numbers[0], numbers[-1]
        ratios = [max(row[1:]) / min(row[1:]) for row in (low, high) if min(row[1:]) > 0]
        grows = lengths == sorted(set(lengths)) and lengths[-1] >= 4 * lengths[0] > 0
        if grows and len(ratios) == 2 and ratios[0] < ALIKE and ratios[1] > OPENS:
            return [
                f"at a length of {low[0]:g} the two have {min(low[1:]):g} and {max(low[1:]):g} "
                f"({first.where}), at {high[0]:g} {min(high[1:]):g} and {max(high[1:]):g} "
                f"({last.where}): they part with the length"
            ]
    return []


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
