"""Checkpoints that are told apart by a score whose noise is as large as their differences."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from statistics import fmean, pvariance

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.columns import rows_of
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_ASKS = re.compile(
    r"\b(?:worse|better|best|drop\w*|degrad\w*|regress\w*|declin\w*|which (?:checkpoint|ckpt|one)|"
    r"ship|improv\w*|unstable|nois\w*|fluctuat\w*|jump\w*|bounc\w*|zig-?zag\w*|oscillat\w*|plateau\w*|"
    r"not (?:moving|going up|generali\w*)|(?:up and|goes) down|com\w+ back|flat|stuck|random\w*)\b",
    re.IGNORECASE,
)
_WITH_ERROR = re.compile(  # lm-eval's rows, and `0.635 +/- 0.034`
    r"^\W*(?P<task>[A-Za-z][\w./-]*(?:\s*\([^)|]*\))?)(?P<between>.*?[|:=\s])"
    r"(?P<value>0?\.\d+|\d{1,3}\.\d+)\W*(?:\u00b1|\+/-|\+-|stderr)\W*(?P<error>0?\.\d+|\d\.\d+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z_][a-z_\d]*")
_OF_A_RUN = re.compile(
    r"^(?:base(?:line)?|sft|dpo|ppo|grpo|rl|lora|tuned|trained|ours|mine|new|old|original|model|"
    r"before|after|final|best|last|ckpt\d*|checkpoint\d*|step\d*|epoch\d*|run\d*)$"
)
_ITEMS = re.compile(
    r"(?<![\d,.])(?P<n>\d{1,3}) (?:(?:aime|amc|math|eval\w*|test|held[- ]out|validation)\w*[ -])*"
    r"(?:problems|questions|items|examples|prompts|tasks)\b|--limit[= ]+(?P<limit>\d{1,3})\b|"
    r"\b(?P<aime>AIME)[- _]?(?:20)?2\d\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:mean|avg|average|maj|cons)@(?!1\b)\d+|\bval_kwargs\.n\s*=\s*(?!1\b)\d+|"
    r"\b(?:averaged?|mean) (?:over|of) \d+ (?:samples|runs|seeds)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:aime\w*|amc\w*|acc\w*|solved|correct|pass@1|mean@1|avg@1|re-?runs?|again)\b",
    re.IGNORECASE,
)
_ROW = re.compile(
    r"^\W*(?:(?:step|ckpt|checkpoint|iter\w*|epoch|run|seed)[ _:=-]*)?\d+\b", re.IGNORECASE
)
_NO_SCORE = re.compile(r"loss|reward|lr\b|rate|\bkl|entropy|norm|len|time|step|epoch|clip", re.I)
_FRACTION = re.compile(
    r"(?<![\d.])0\.\d{2,}(?![\d.])|(?<![\d./])(?P<right>\d{1,3})/(?P<of>\d{1,3})(?![\d/])"
)
_Scores = list[tuple[Line | Entry, float]]
_Found = tuple[Line | Entry, str, str, list[str]]  # where, what, of what, the proof
TWO, CLEAR = 2.0, 1.3  # standard errors; on the same items fewer of them may be a difference
LEAST, MANY, FEW, MOST = 10, 100, 4, 10  # problems of a small set; scores; shown
ROUNDED, NEARLY_ALL, TOP = 0.0006, 0.8, 1.6  # of a score; of a column; times a coin's variance
SURE = 7.0
NOISE = (
    "the checkpoints are not told apart: {shown}, so that the rises and falls between them are the "
    "noise of so few {items}, and no sign that the training makes the model better or worse. "
    "Whichever is the best of them is so by chance"
)
MEASURE = (
    "evaluate on the whole set (without --limit; gsm8k has 1319), or draw many samples for each "
    "problem and average them (avg@32), and compare two checkpoints on the same items, pair by "
    "pair; until then choose none by this score, and change no setting for it"
)


def told_apart_by_noise(beside: Beside, log: Log) -> Iterator[Finding]:
    """Scores of several checkpoints that differ by less than two of their standard errors."""
    asks = next((line for line in beside.words if _asks(line)), None)
    if asks is None:
        return
    found = _by_errors(beside) or _by_count(beside, log)
    if found is None:
        return
    at, shown, items, proof = found
    why = NOISE.format(shown=shown, items=items)
    proof = tuple(dict.fromkeys((*proof, asks.says)))
    yield Finding("within_noise", SURE, at, proof, why=why, advice=MEASURE)


def _asks(line: Line) -> bool:
    return bool(_ASKS.search(line.text)) and (is_prose(line.text) or "?" in line.text)


def _by_errors(beside: Beside) -> _Found | None:
    """Scores that are printed with their standard error, of each task alone."""
    rows: dict[str, list[tuple[Line, float, float]]] = defaultdict(list)
    for line in beside.words:
        if found := _WITH_ERROR.search(line.text):
            words = _WORD.findall(f"{found['task']} {found['between']}".lower())
            name = " ".join(one for one in words if not _OF_A_RUN.match(one))
            rows[name].append((line, float(found["value"]), float(found["error"])))
    several = [some for some in rows.values() if len(some) > 1]
    if not several or any(
        _differ(one, other) for s in several for one, other in combinations(s, 2)
    ):
        return None
    some = max(several, key=_range)
    error = max(error for *_, error in some)
    apart = _range(some)
    if not apart:
        return None
    shown = (
        f"their scores are {apart:.3g} apart at most, and each has a standard error of "
        f"{error:.3g}, so a difference of {math.sqrt(2) * error:.3g}"
    )
    return some[0][0], shown, "items", [line.says for line, *_ in some[:3]]


def _range(some: list[tuple[Line, float, float]]) -> float:
    values = [value for _, value, _ in some]
    return max(values) - min(values)


def _differ(one: tuple[Line, float, float], other: tuple[Line, float, float]) -> bool:
    """Whether two scores are further apart than the noise of both."""
    return abs(one[1] - other[1]) > CLEAR * math.hypot(one[2], other[2])


def _by_count(beside: Beside, log: Log) -> _Found | None:
    """Shares of so few problems, one sample of each, that spread as a coin's would."""
    told = beside.first(_ITEMS)
    if told is None or beside.matching(_SEVERAL):
        return None
    number = 30 if told[1]["aime"] else int(told[1]["n"] or told[1]["limit"])
    if not LEAST <= number <= MANY:
        return None
    for scores in _series(beside, log, number):
        values = [value for _, value in scores]
        by_chance = fmean(values) * (1 - fmean(values)) / number
        if not _is_noise(values, by_chance):
            continue
        error, counts = math.sqrt(by_chance), [f"{value * number:.0f}" for value in values]
        shown = (
            f"of {number} problems {', '.join(counts[:MOST])} are solved, and one sample of each "
            f"has a standard error of {error:.2g} ({error * number:.1f} problems) by chance alone"
        )
        proof = [told[0].says, *(part.says for part, _ in scores[:3])]
        return scores[0][0], shown, "problems", proof
    return None


def _is_noise(values: list[float], by_chance: float) -> bool:
    """Whether scores spread as chance has it, and the last are no better than the first."""
    half = len(values) // 2
    if len(values) < FEW or not by_chance or len(set(values)) < 2:
        return False
    moved = fmean(values[-half:]) - fmean(values[:half])
    is_level = abs(moved) < TWO * math.sqrt(2 * by_chance / half)
    return is_level and pvariance(values) < TOP * by_chance


def _series(beside: Beside, log: Log, number: int) -> Iterator[_Scores]:
    """Columns of scores of which nearly all are a whole number of so many problems."""
    columns: dict[str, _Scores] = defaultdict(list)
    for row in rows_of(beside, log):
        for name, value in row.numbers.items():
            if not _NO_SCORE.search(name):
                columns[name].append((row.at, value))
    for line in beside.words:
        if _ROW.match(line.text) or _NAMED.search(line.text):
            for at, found in enumerate(_FRACTION.finditer(line.text)):
                share = _share(found, number)
                columns[f"column {at}"] += [(line, share)] if share is not None else []
    for entry in (entry for run in (*log.earlier, log) for entry in run.entries):
        for name in entry.numbers.keys() & {"eval_accuracy"}:
            columns[name].append((entry, entry.numbers[name]))
    for scores in columns.values():
        whole = [one for one in scores if _is_whole(one[1], number)]
        if len(whole) >= FEW and len(whole) >= NEARLY_ALL * len(scores):
            yield sorted(whole, key=lambda one: place(one[0]))


def _share(found: re.Match, number: int) -> float | None:
    """A score as it is written, 0.267 or 8/30, None where it is of another number."""
    if found["of"] is None:
        return float(found[0])
    return int(found["right"]) / number if int(found["of"]) == number else None


def _is_whole(value: float, number: int) -> bool:
    return 0 < value < 1 and abs(value * number - round(value * number)) < ROUNDED * number
