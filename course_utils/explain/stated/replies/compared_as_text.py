"""A verifier that compares answers as text, so that another spelling of the right one is wrong."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log

_MINE = re.compile(
    r"group\(|\[-1\]|pred|resp|compl|extract|repl|box|student|out|hyp|parsed|model|cand|got|answer",
    re.IGNORECASE,
)
_GOLD = re.compile(
    r"gold|truth|\bgt\b|label|target|ref|sol|correct|expect|answer|^\W*[ag]\W*$", re.I
)
_READS_VALUES = re.compile(
    r"^(?:verify|parse|float|int|Fraction|Decimal|sympify|simplify|is_equiv\w*|math_equal\w*|"
    r"grade_answer\w*|latex2sympy|parse_latex|\w*normali[sz]e\w*|canonical\w*|isclose)$"
)
_FORM = re.compile(r"norm|clean|strip|canonical", re.IGNORECASE)
_OF_BLANKS = {"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "join", "split", "str"}
_BLANK = re.compile(r"""\.replace\(['\"][\s.]*['\"],|re\.sub\(r?['\"]\\{1,2}s[+*]?['\"]""")
_OF_PAIRS = re.compile(
    r"\b(?:gold\w*|ground[_ ]?truth|gt|targets?|expected|label|reference|answer|solution)\b", re.I
)
_ZERO = re.compile(
    r"\b(?:rewarded|reward|scored?|acc(?:uracy)?|paid|marked|graded|got|gets?|gives?|gave|with|"
    r"are|were|as)\b\W{0,7}"
    r"(?:is |a |of |as )?(?:0(?:\.0+)?(?![.\d]| \w*(?:differ|disagr|mismatch|err))|"
    r"zero|wrong|false|incorrect)|"
    r"\bzeros?\b|\b(?:wrong|incorrect|unpaid|rejected)\b",
    re.IGNORECASE,
)
_APART = re.compile(r"\s*(?:\||\t|\s{2,}|!=|\bvs\.?(?!\w)|->|\u2260)\s*")
_NAMED = re.compile(
    r"['\"]?\b(?P<name>gold\w*|ground[_ ]?truth|gt|targets?|expected|label|reference|pred\w*|"
    r"extracted|parsed|boxed|model_answer|answer|got|student)['\"]?\s*[:=]\s*"
    r"(?:(?P<sign>['\"`])(?P<quoted>[^'\"`]+)(?P=sign)|(?P<value>[^'\"`|;]+?))(?=\s{2,}|[,;|)}]\s|[,}]?\s*['\"]|"
    r"[,}]?$|\s+\w+\s*[:=]|\s+(?:reward|score)\b)",
    re.IGNORECASE,
)
_BY_ANOTHER = re.compile(
    r"\b(?:math[-_ ]?verify|sympy|latex2sympy|math_equal|is_equiv\w*|grade_answer|by hand|"
    r"by eye|manually|re-?scor\w+|re-?grad\w+)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)? ?%?(?![\w.])")
_WRAPPED = re.compile(r"\\(?:text|mathrm|mbox|textbf)\s*\{[^{}]*\}")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{?(-?[\d.]+)\}?\s*\{?([\d.]+)\}?")
_DROPPED = re.compile(
    r"\\(?:left|right|displaystyle|circ|quad|[!,;: $%])|\^|[${}%\s\u20ac\u00a3\u00b0]|"
    r"(?<=\d),(?=\d{3})"
)
_UNIT = re.compile(r"(?<=[\d)])\s*(?:[A-Za-z]+(?:\^?\d)?)$")
_ASSIGNED = re.compile(r"^[A-Za-z]\w*\s*(?:=|\\in)\s*")
PART = 0.05  # of a count
FEW, MANY, OFTEN, NEAR = 2, 5, 0.3, 2  # pairs; without code; of the rows; lines
LONGEST, ABOVE = 60, 30  # signs of an answer; lines of a table below its head
KNOWN, SHOWN = 8.7, 7.4
AS_TEXT = (
    "the verifier compares answers as text, and right ones in another spelling earn 0{such}. The "
    "policy is punished for right replies, starts below what it can do, and learns the spelling"
)
SUCH = " ({})"
BY_VALUE = (
    "compare values: bring both sides into one form (units, $, commas, %, \\dfrac, decimals and "
    "fractions) or use math_verify, parse(gold) and parse(reply); test it on right replies of each "
    "spelling before the run, and score the replies of the start again"
)


@dataclass(frozen=True)
class _Pair:
    """What a reply gives and what is right, where it stands."""

    line: Line | Entry
    mine: str
    gold: str

    @property
    def is_same(self) -> bool:
        return self.mine != self.gold and _value(self.mine) == _value(self.gold)


def compared_as_text(beside: Beside, log: Log) -> Iterator[Finding]:
    """Answers that are equal and spelled otherwise among those that earn nothing, or a count by
    another verifier, mostly beside the line that compares them as text."""
    code, pairs = _compares(beside), _pairs(beside, log)
    same = [one for one in pairs if one.is_same]
    is_often = len(same) >= OFTEN * len(pairs)
    counted = _counted(beside) if code else []
    if not (same and is_often and len(same) >= (FEW if code else MANY)) and not counted:
        return
    rows = [f"{one.line.where}: {one.mine} is not paid for {one.gold}" for one in same[:3]]
    rows += [f"{len(same)} of {len(pairs)} such rows have equal values"] if len(same) > 3 else []
    proof = (*([code.says] if code else []), *rows, *counted)
    such = SUCH.format(", ".join(f"{one.mine} for {one.gold}" for one in same[:2])) if same else ""
    at = code or same[0].line
    why = AS_TEXT.format(such=such)
    weight = KNOWN if code else SHOWN
    yield Finding("right_answers_unpaid", weight, at, proof, why=why, advice=BY_VALUE)


def _compares(beside: Beside) -> Line | None:
    """The line that compares a reply's answer and the right one as text."""
    at, reads, found, held = None, False, None, {}
    rows = list(statements(beside))
    weak = _keeps_spelling([statement for _, statement in rows])
    for line, statement in rows:
        if isinstance(statement, ast.FunctionDef):
            found = found or (None if reads else at)
            at, reads, held = None, False, {}
        reads = reads or any(_reads_values(one, weak) for one in calls(statement))
        for node in ast.walk(statement):
            at = at or (line if _is_of_answers(node, held) else None)
        held |= {name_of(target): ast.unparse(value) for target, value in bound(statement)}
    return found or (None if reads else at)


def _reads_values(call: ast.Call, weak: set[str]) -> bool:
    """Whether a call makes values of texts; float(a == b) makes one of the comparison."""
    is_of_result = any(isinstance(one, ast.Compare) for arg in call.args for one in ast.walk(arg))
    name = name_of(call.func)
    return bool(_READS_VALUES.match(name)) and not is_of_result and name not in weak


def _keeps_spelling(rows: list[ast.stmt]) -> set[str]:
    """The functions by which texts are only freed of blanks and capitals."""
    found: dict[str, bool] = {}
    within = ""
    for one in rows:
        if isinstance(one, ast.FunctionDef):
            within = one.name if _FORM.search(one.name) else ""
            found |= {within: True} if within else {}
        elif within:
            found[within] = found[within] and all(map(_is_of_blanks, calls(one)))
        if isinstance(one, ast.Return):
            within = ""
    return {name for name, keeps in found.items() if keeps}


def _is_of_blanks(call: ast.Call) -> bool:
    return name_of(call.func) in _OF_BLANKS or bool(_BLANK.search(ast.unparse(call)))


def _is_of_answers(node: ast.AST, held: dict[str, str]) -> bool:
    """Whether a reply's answer and the right one are compared, or names that hold them."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq):
        return False
    sides = [node.left, node.comparators[0]]
    if any(isinstance(one, ast.Constant) for one in sides):
        return False
    texts = (ast.unparse(side) for side in sides)
    one, other = (f"{text} {held.get(text, '')}" for text in texts)
    both = (_MINE.search(one) and _GOLD.search(other)) or (
        _MINE.search(other) and _GOLD.search(one)
    )
    return bool(both) and not re.search(r"\brole\b|\bid\b|shape|len\(", f"{one} {other}")


def _pairs(beside: Beside, log: Log) -> list[_Pair]:
    """Each row with a reply's answer and the right one, in a table of those that earn nothing."""
    found, left = [], 0
    for line in sorted((*beside.words, *log.entries), key=place):
        left -= 1
        told = _NAMED.finditer(line.text)
        named = {m["name"].lower(): (m["quoted"] or m["value"]).strip() for m in told}
        gold = next((v for name, v in named.items() if _OF_PAIRS.match(name)), None)
        mine = next((v for name, v in named.items() if not _OF_PAIRS.match(name)), None)
        if gold and mine and (_ZERO.search(line.text) or left > 0):
            found.append(_Pair(line, mine, gold))
            continue
        if _OF_PAIRS.search(line.text) and (_ZERO.search(line.text) or left > 0):
            left = ABOVE
            continue
        if _ZERO.search(line.text) and line.text.rstrip().endswith(":"):
            left = ABOVE
            continue
        cells = [one for one in _APART.split(line.text.strip()) if one]
        if left > 0 and len(cells) >= 2 and max(map(len, cells[:2])) <= LONGEST:
            found.append(_Pair(line, cells[0].strip("'\"`"), cells[1].strip("'\"`")))
    return found


def _value(text: str) -> str | float:
    """An answer without its spelling.

    >>> [_value(one) for one in (r"\\$1,200.00", r"15\\text{ hours}", r"\\dfrac{1}{2}", "x = 12")]
    [1200.0, 15.0, 0.5, 12.0]
    """
    plain = _ASSIGNED.sub("", _WRAPPED.sub("", text.strip()))
    plain = _FRACTION.sub(r"\1/\2", plain)
    plain = _DROPPED.sub("", _UNIT.sub("", plain.strip(". ")).strip(". "))
    over = plain.split("/")
    try:
        return float(over[0]) / float(over[1]) if len(over) == 2 else float(plain)
    except (ValueError, ZeroDivisionError):
        return plain.lower()


def _is_a_part(words: str) -> bool:
    """Whether of the counts in some words the second one is no small part of the largest."""
    told = (float(one.replace(",", "").rstrip("% ")) for one in _COUNTED.findall(words))
    counts = sorted({one for one in told if one > 1 and one % 1 == 0}, reverse=True)
    return len(counts) > 1 and counts[1] >= PART * counts[0]


def _counted(beside: Beside) -> list[str]:
    """Lines that count, by another verifier, right replies which earned nothing."""
    lines = beside.words
    for number, line in enumerate(lines):
        if not _BY_ANOTHER.search(line.text):
            continue
        near = lines[max(0, number - NEAR) : number + NEAR + 1]
        words = " ".join(one.text for one in near)
        if _ZERO.search(words) and _is_a_part(words):
            return [line.says]
    return []
