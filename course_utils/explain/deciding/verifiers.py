"""A reward that is one constant: gold answers that its verifier cannot parse."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log

_LATEX = re.compile(r"\bLatexExtractionConfig\b")
_PLAIN = re.compile(r"\b(?:Expr|String)ExtractionConfig\b")
_GOLD = re.compile(r"\b(?:solutions?|answers?|gold\w*|ground_truth|targets?)\b", re.IGNORECASE)
_BARE = re.compile(r"(?<=[\s(\[:=,])(['\"])-?\d[\d./,]{0,20}\1(?=[\s)\],}]|$)")
_DEFAULT = re.compile(
    r"\b(?:\w*rewards?|score|return)\b\W{0,3}(?:append\()?(-?\d+(?:\.\d+)?)\)?\s*$"
)
NEAR = 2  # lines below the one that names them
NO_LATEX = (
    "the gold answers are bare text ({}), and the verifier looks for LaTeX alone: none of them is "
    "parsed, and every reply gets the constant of that branch, right or wrong"
)
PARSE_THEM = (
    "write the gold answers as LaTeX ($...$ or \\boxed{...}), or parse them with "
    "ExprExtractionConfig() beside LatexExtractionConfig(); return None where a gold answer cannot "
    "be parsed, and not a number; see that parse() of ten of them is not empty"
)


def unparsed(one: Finding, beside: Beside, log: Log) -> Finding:
    """What the log shows of the verifier, where it takes LaTeX alone and the answers are bare."""
    latex, bare = beside.matching(_LATEX), _bare(beside)
    if latex is None or bare is None or beside.matching(_PLAIN):
        return one
    told = [f"{latex[0].where} says: {latex[0].text.strip()[:110]}"]
    told.append(f"{bare[0].where} says: {bare[0].text.strip()[:60]}")
    if default := _default(one, beside, log):
        told.append(f"{default.where} says: {default.text.strip()}")
    why = NO_LATEX.format(bare[1])
    return replace(one, weight=8.0, for_it=(*one.for_it, *told), why=why, advice=PARSE_THEM)


def _bare(beside: Beside) -> tuple[Line, str] | None:
    """An answer without marks of LaTeX, in a line that names answers or just below it."""
    lines = [line for _, line in beside.lines]
    for number, line in enumerate(lines):
        if not _GOLD.search(line.text):
            continue
        for near in lines[number : number + NEAR]:
            if found := _BARE.search(near.text):
                return near, found[0]
    return None


def _default(one: Finding, beside: Beside, log: Log) -> Line | Entry | None:
    """The line of code that gives the number which the reward has in every entry."""
    parts = one.at.numbers.items() if isinstance(one.at, Entry) else ()
    values = {value for name, value in parts if name.startswith("part:")}
    for line in (*(line for _, line in beside.lines), *log.entries):
        found = _DEFAULT.search(line.text)
        if found and float(found[1]) in values and float(found[1]) % 1:
            return line
    return None
