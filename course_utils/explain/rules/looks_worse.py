"""An evaluation that looks worse than it is by how it counts: `rule(log, beside)`."""

import re
from itertools import accumulate, pairwise
from math import hypot

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, trend

_NTH = re.compile(
    r"(?:test|eval|val)[_/](?P<n>\d+)[_-]?(?:acc\w*|alpha)|(?P<m>\d+)[-_](?:acc\w*|alpha)"
)
_ACCEPTED = re.compile(
    r"\b(?:tau\b|chain\b|accept\w*|mean accepted|tokens ?/ ?(?:target )?(?:forward|step)).*", re.I
)
_NUMBER = re.compile(r"(?<![\w.])(\d\.\d+)(?![\w%])")
_ROW = re.compile(
    r"^\|(?P<task>[^|]*)\|.*\|\s*(?P<filter>strict-match|flexible-extract)\s*\|.*?"
    r"\|\s*(?P<value>0?\.\d+|1(?:\.0+)?)\s*\|\s*(?:±|\+/?-)\s*\|\s*(?P<error>0?\.\d+)\s*\|"
)
_FILTERS = ("flexible-extract", "strict-match")
Table = dict[str, tuple[float, float]]  # value and standard error by filter
FEWEST, NO_FALL, NEAR = 4, 0.85, 0.04  # draft tokens; of a rate; of the tokens of a forward pass
APART, NOISE = 0.2, 2.0  # of the answers; standard errors


def counted_in_a_row(log: Log, beside: Beside) -> Finding | None:
    """The nth draft token is counted as right only if all before it were: by what is accepted."""
    shares = _by_place(log)
    hits = [value for _, value in shares]
    if len(hits) < FEWEST or not all(0 < now < before for before, now in pairwise(hits)):
        return None
    rates = [now / before for before, now in pairwise(hits)]
    if min(rates[1:]) < NO_FALL * rates[0]:
        return None
    expected = 1 + list(accumulate(hits))[-1]
    measured = _measured(beside, expected)
    if measured is None:
        return None
    line, value = measured
    entry = shares[0][0]
    proof = (
        f"each over the one before it: {listed(tuple(rates))}, which does not fall with the place",
        f"1 + {' + '.join(f'{hit:.3f}' for hit in hits)} = {expected:.2f} tokens for each forward "
        f"pass, and {line.where} has measured {value}: {line.text.strip()[:80]}",
    )
    return Finding("counted_in_a_row", 3.2, entry, proof)


def _by_place(log: Log) -> list[tuple[Entry, float]]:
    """The last share of each place, 0 and on."""
    found: dict[int, tuple[Entry, float]] = {}
    for entry, value in log.series("eval_accuracy"):
        if matched := _NTH.fullmatch(entry.names["eval_accuracy"]):
            found[int(matched["n"] or matched["m"])] = (entry, value)
    is_whole = sorted(found) == list(range(len(found)))
    return [found[n] for n in sorted(found)] if is_whole else []


def _measured(beside: Beside, expected: float) -> tuple[Line, str] | None:
    """A number of accepted tokens that the log has measured, near the expected one."""
    for line in beside.words:
        found = _ACCEPTED.search(line.text)
        for number in _NUMBER.findall(found[0]) if found else ():
            if abs(float(number) - expected) <= NEAR * expected:
                return line, number
    return None


def strict_about_the_form(log: Log, beside: Beside) -> Finding | None:
    """Both models lose the strict match alone, in the same evaluation; the answers stay right."""
    tables = _tables(beside)
    levels = trend(log.values("loss"))
    if len(tables) < 2 or (levels and levels[2] > levels[0]):
        return None
    (mine, first), (base, second) = tables[0], tables[-1]
    flexible, strict = ([table[name] for table in (mine, base)] for name in _FILTERS)
    if any(f[0] - s[0] < APART for f, s in zip(flexible, strict, strict=True)):
        return None
    noise = NOISE * hypot(flexible[0][1], flexible[1][1])
    if abs(flexible[0][0] - flexible[1][0]) > noise:
        return None
    proof = (
        f"{first.where} and {second.where}, two models in one setting: flexible-extract "
        f"{flexible[0][0]:.4g} and {flexible[1][0]:.4g}, no further apart than their errors; "
        f"strict-match {strict[0][0]:.4g} and {strict[1][0]:.4g}, low in both",
    )
    return Finding("strict_about_the_form", 3.0, first, proof)


def _tables(beside: Beside) -> list[tuple[Table, Line]]:
    """The tables of an evaluation of one task that have both filters, with their first line."""
    found: list[tuple[Table, Line]] = []
    tasks: list[str] = []
    for line in beside.words:
        if row := _ROW.match(line.text):
            name, pair = row["filter"], (float(row["value"]), float(row["error"]))
            if task := row["task"].strip():
                tasks.append(task)
            if not found or name in found[-1][0]:
                found.append(({}, line))
            found[-1][0][name] = pair
    is_one = len(set(tasks)) == 1
    return [one for one in found if set(one[0]) == set(_FILTERS)] if is_one else []


RULES_OF_SETTINGS = (counted_in_a_row, strict_about_the_form)
