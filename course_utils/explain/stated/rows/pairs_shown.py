"""Pairs that are printed with the stars or scores of both replies, the worse one as chosen."""

import itertools
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.rows.orders import sense_of
from course_utils.explain.stated.rows.pairs_by_order import BY_NAME, OTHER_WAY, SENSES, TURNED, lost

_VALUE = r"-?\d+(?:\.\d+)?"
_NAMED = re.compile(  # chosen_stars: 2 ... rejected_stars: 5, or score_chosen and so on
    rf"\bchosen[_ .-](?P<name>[a-z]+)['\"]?\W{{1,4}}(?P<good>{_VALUE})(?![\w.]).*?"
    rf"\brejected[_ .-](?P=name)['\"]?\W{{1,4}}(?P<bad>{_VALUE})(?![\w.])|"
    rf"\b(?P<other>[a-z]+)[_ .-]chosen['\"]?\W{{1,4}}(?P<good2>{_VALUE})(?![\w.]).*?"
    rf"\b(?P=other)[_ .-]rejected['\"]?\W{{1,4}}(?P<bad2>{_VALUE})(?![\w.])",
    re.IGNORECASE,
)
_BARE = re.compile(  # chosen [2] 'text' ... rejected [5] 'text'
    rf"\bchosen\b\W{{1,4}}(?:(?P<name>[a-z]+)\W{{1,3}})?(?P<good>{_VALUE})(?=[\])*, ]).*?"
    rf"\brejected\b\W{{1,4}}(?:(?:[a-z]+)\W{{1,3}})?(?P<bad>{_VALUE})(?=[\])*, ]|$)",
    re.IGNORECASE,
)
_SORTED = re.compile(
    r"\b(?:sorted|sort|ordered|ranked|rank)\b(?: [a-z]+)? by ['\"]?(?P<name>[a-z_]+)|"
    r"--?(?:field|key|by|sort[-_]by|score[-_]?(?:key|field))[= ]['\"]?(?P<key>[a-z_]+)",
    re.IGNORECASE,
)
_BY_MODEL = re.compile(r"reward|logp|logit|margin", re.IGNORECASE)  # of the model, not of the data
_BELOW_CHANCE = re.compile(
    r"\b(?:reward_?bench|chat|safety|reasoning)\b\W{1,3}(?P<share>0?\.\d+)", re.IGNORECASE
)
_N_AND_WINS = re.compile(r"^\W*(?P<n>\d+)\s*\|\s*(?P<wins>\d+(?:\.\d+)?) ?%?\s*\|?\s*$")
FEW, SHOWN, TESTED, HALF = 2, 8.2, 9.2, 0.5


def worse_one_chosen(beside: Beside, log: Log) -> Iterator[Finding]:
    """In every pair that is shown the chosen reply stands at the worse end of its score."""
    if log.kind() == "policy" or beside.matching(TURNED):
        return
    pairs = list(_pairs(beside))
    sorted_by = next(_sorted(beside), None)
    for quantity in dict.fromkeys(name for _, name, _, _ in pairs):
        some = [(line, good, bad) for line, name, good, bad in pairs if name == quantity]
        name = quantity or (sorted_by[1] if sorted_by else "")
        sense = sense_of(name) if name else ""
        if len(some) < FEW or not sense or _BY_MODEL.search(name):
            continue
        if not all((good < bad) == (sense == "high") and good != bad for _, good, bad in some):
            continue
        yield _finding(beside, [line for line, *_ in some], name, sense, sorted_by)
        return


def _finding(beside: Beside, lines: list[Line], name: str, sense: str, sorted_by) -> Finding:
    shown = [*([sorted_by[0]] if sorted_by else []), *lines[:2]]
    proof = [one.says for one in shown]
    proof.append(f"so in all {len(lines)} pairs that are shown")
    tested = [*lost(beside), *_below_chance(beside), *_worse_with_n(beside)]
    end = "lower" if sense == "high" else "higher"
    why = (
        f"the pairs are turned round: {name} is {SENSES[sense]}, and the chosen reply is the one "
        f"with the {end} {name}, so that the run learns to prefer the worse replies. Loss, margin "
        "and accuracy do not show it, nor does an evaluation on pairs that are made the same way"
    )
    against = () if tested else (BY_NAME,)
    of = ("pairs_inverted", TESTED if tested else SHOWN, lines[0], (*proof, *tested), against)
    return Finding(*of, why=why, advice=OTHER_WAY)


def _pairs(beside: Beside) -> Iterator[tuple[Line, str, float, float]]:
    for line in beside.words:
        if found := _NAMED.search(line.text):
            name = (found["name"] or found["other"]).lower()
            good, bad = found["good"] or found["good2"], found["bad"] or found["bad2"]
            yield line, name, float(good), float(bad)
        elif found := _BARE.search(line.text):
            name = (found["name"] or "").lower()
            yield line, name, float(found["good"]), float(found["bad"])


def _sorted(beside: Beside) -> Iterator[tuple[Line, str]]:
    """What is said to be sorted by, where its name has a better end."""
    for line in beside.words:
        for found in _SORTED.finditer(line.text):
            name = (found["name"] or found["key"]).lower()
            if sense_of(name):
                yield line, name


def _below_chance(beside: Beside) -> list[str]:
    """A benchmark of pairs whose parts are below a coin's."""
    for line in beside.words:
        shares = [float(m["share"]) for m in _BELOW_CHANCE.finditer(line.text)]
        if len(shares) > 1 and max(shares) < HALF:
            return [line.says]
    return []


def _worse_with_n(beside: Beside) -> list[str]:
    """A table in which the best of more replies wins less."""
    rows = [(line, m) for line in beside.words if (m := _N_AND_WINS.match(line.text))]
    wins = [float(m["wins"]) for _, m in rows]
    if len(wins) < 3 or any(now >= before for before, now in itertools.pairwise(wins)):
        return []
    first, last = rows[0], rows[-1]
    return [
        f"the best of {first[1]['n']} wins {wins[0]:g} % ({first[0].where}), the best of "
        f"{last[1]['n']} {wins[-1]:g} % ({last[0].where})"
    ]
