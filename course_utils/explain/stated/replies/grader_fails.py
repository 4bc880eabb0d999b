"""A grader that fails (rate limits, timeouts), and whose failures are paid as wrong replies."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.columns import rows_of
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log

_NOTHING = (
    r"(?:-?0(?:\.0+)?|-1(?:\.0+)?|False|\[\s*0(?:\.0*)?\s*\](?:\s*\*.*)?)"
    r"(?:\s*,[^=]*)?"  # and a reason for it
)
_CATCHES = re.compile(r"^\W*except\b(?P<what>[^:]*):\s*(?P<rest>.*)$|return_exceptions\s*=\s*True")
_PAYS = re.compile(
    rf"^\W*(?:return|(?:\w*(?:score|reward|result)\w*(?:\[\w+\])?)\s*=|"
    rf"\w+\.append\(|return \{{['\"](?:score|reward|acc)\w*['\"]:)"
    rf"\s*{_NOTHING}\}}?\s*\)?\s*(?:#.*)?$|"
    rf"\b{_NOTHING}\s+if\s+isinstance\(\w+,\s*(?:Base)?Exception\)"
)
_OF_THE_REPLY = re.compile(
    r"^\s*\(?\s*(?:ValueError|KeyError|IndexError|JSONDecodeError|SyntaxError)"
)
_GRADES = re.compile(
    r"client|requests\.|httpx|aiohttp|openai|\.post\(|subprocess|sandbox|judge|endpoint|api|"
    r"TimeoutExpired|grader|Pool\(|communicate\(|timeout",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"(?<![\d.])(?:429|502|503|504)s?\b(?! (?:tokens|steps))|\brate[-_ ]?limit\w*|\bthrottl\w*|"
    r"\bquota (?:is )?(?:used up|exceeded|exhausted|reached)|\bover quota\b|"
    r"\bReadTimeout\w*|\bconnection (?:error|refused|reset)\w*|"
    r"\b(?:judge|grader|verifier|request|api)s?[_ ](?:fail\w*|err\w*)|\bfailed requests\b",
    re.IGNORECASE,
)
_LATE = re.compile(r"\btime[sd]?[-_ ]?outs?\w*|\bTimeoutExpired\b", re.IGNORECASE)
_SHARE = re.compile(
    r"(?P<percent>\d{1,3}(?:\.\d+)?)(?:\s*[-\u2013]\s*\d{1,3})? ?%|"
    r"(?<![\w.])(?P<share>0?\.\d+)(?![\w.])"
)
_COLUMN = re.compile(r"time_?d?_?outs?|fail|429|_err|errors?|throttl|rate_?limit|exception")
_PASS_AGAIN = re.compile(
    r"\b(?P<n>\d+) ?(?:of|out of|/) ?(?:the |those )?(?P<of>\d+)\b.{0,80}"
    r"\b(?:pass\w*|correct|right|succe\w+|(?:are|were) fine)",
    re.IGNORECASE,
)
_OF_ZEROS = re.compile(
    r"\bzeros?\b|\b(?:reward|score)\W{0,3}0\b|time[sd]? ?outs?|fail", re.IGNORECASE
)
_CROWDED = re.compile(
    r"(?P<n>\d[\d,]*) (?:\w+ )?(?:processes|workers|procs|jobs|sandboxes|requests).{0,50}?"
    r"(?P<cores>\d[\d,]*) (?:\w+ )?(?:cores|cpus|vcpus|threads)",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:no|not|never|without|none|n't)\b(?: \w+)?\s*$", re.IGNORECASE)
NEAR = 60  # signs
MUCH, TIMES, LINES, CROWD = 0.1, 3.0, 6, 4  # a share; times a share; lines of a block; a core
SURE, SHOWN = 8.9, 8.0
FAILS = (
    "the grader itself fails, and its failures are paid as wrong replies: what it raises ({what}) "
    "is caught and {pays}. So good replies are punished at random, as often as it fails, and the "
    "policy learns from that noise"
)
LEFT_OUT = (
    "return None for a reply that could not be graded (or leave its group out), and try again with "
    "a pause; fewer requests or processes at once, and CPU time in place of wall time; log the "
    "share of failures and stop the run where it grows; go on from a checkpoint of before it grew"
)


def grader_fails(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that catches what a grader raises and pays 0, and a good share of failures."""
    lines = sorted(beside.words, key=place)
    found = next(_caught(lines), None)
    if found is None:
        return
    at, pays, what = found
    shown = [*_failing(beside, log), *_again(lines)]
    if not shown:
        return
    proof = tuple(dict.fromkeys((at.says, pays.says, *shown)))
    why = FAILS.format(what=what, pays=f"answered with {pays.text.strip()[:40]}")
    weight = SURE if log.entries else SHOWN
    yield Finding("grader_fails", weight, at, proof, why=why, advice=LEFT_OUT)


def _caught(lines: list[Line]) -> Iterator[tuple[Line, Line, str]]:
    """Each line that catches what is raised, the one that pays nothing for it, and what it is."""
    for number, line in enumerate(lines):
        caught = _CATCHES.search(line.text)
        if not caught or _OF_THE_REPLY.search(caught["what"] or ""):
            continue
        around = lines[max(0, number - 2 * LINES) : number + LINES]
        if not any(_GRADES.search(one.text) for one in around):
            continue
        if _PAYS.search(caught["rest"] or ""):
            yield line, line, _name(caught)
            continue
        pays = next((one for one in lines[number + 1 : number + LINES] if _is_paid(one)), None)
        if pays:
            yield line, pays, _name(caught)


def _is_paid(line: Line) -> bool:
    return bool(_PAYS.search(line.text))


def _name(caught: re.Match) -> str:
    return re.sub(r"\s+as\s+\w+", "", caught["what"] or "").strip() or "any exception"


def _failing(beside: Beside, log: Log) -> Iterator[str]:
    """What shows that the grader fails often: refusals, or more timeouts than before or than it
    should have."""
    refused, late = _shares(beside, log, _REFUSED), _shares(beside, log, _LATE)
    columns = _columns(beside, log)
    worst = max(refused, key=lambda one: one[1], default=None)
    if worst and worst[1] >= MUCH:
        yield worst[0].says
    for rows in (late, *columns.values()):
        low, high = min((v for _, v in rows), default=0), max((v for _, v in rows), default=0)
        if high >= MUCH and high >= TIMES * low:
            part = next(one for one, value in rows if value == high)
            yield f"{part.where} shows failures of {high:g}, against {low:g} elsewhere"
    crowd = beside.first(_CROWDED)
    if crowd and (late or columns):
        many, cores = (float(crowd[1][name].replace(",", "")) for name in ("n", "cores"))
        if many >= CROWD * cores:
            yield crowd[0].says


def _shares(beside: Beside, log: Log, of: re.Pattern) -> list[tuple[Line | Entry, float]]:
    """Shares in sentences and lines that speak of such failures."""
    found = []
    for part in (*beside.words, *log.entries):
        if _CATCHES.search(part.text):
            continue
        said = [one for one in of.finditer(part.text) if not _is_denied(part.text, one)]
        for one in _SHARE.finditer(part.text) if said else ():
            value = float(one["percent"]) / 100 if one["percent"] else float(one["share"])
            if value <= 1 and any(_is_near(one, words) for words in said):
                found.append((part, value))
    return found


def _is_denied(text: str, words: re.Match) -> bool:
    return bool(_NO.search(text[max(0, words.start() - 20) : words.start()]))


def _is_near(one: re.Match, words: re.Match) -> bool:
    return -NEAR < one.start() - words.end() < NEAR or 0 <= words.start() - one.end() < NEAR


def _columns(beside: Beside, log: Log) -> dict[str, list[tuple[Line | Entry, float]]]:
    """Columns of failures, by their names."""
    found: dict[str, list[tuple[Line | Entry, float]]] = {}
    for row in rows_of(beside, log):
        for name, value in row.numbers.items():
            if _COLUMN.search(name) and 0 <= value <= 1:
                found.setdefault(name, []).append((row.at, value))
    return {name: rows for name, rows in found.items() if len(rows) > 1}


def _again(lines: list[Line]) -> Iterator[str]:
    """A line that says how many of the zeros pass where they are graded again."""
    for line in lines:
        found = _PASS_AGAIN.search(line.text)
        if found and _OF_ZEROS.search(line.text) and int(found["n"]) >= MUCH * int(found["of"]):
            yield line.says
            return
