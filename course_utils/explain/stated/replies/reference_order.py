"""Log-probs of the reference that are computed in one order of the rows and stored in another."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_LOADS = re.compile(
    r"DataLoader\(\s*(?P<of>\w+)\b.*\b(?:shuffle\s*=\s*True|(?:batch_)?sampler\s*=\s*"
    r"(?!None|\w*Sequential)(?P<sampler>\w+))"
)
_STORES = re.compile(r"\badd_column\(\s*['\"]\w*ref\w*['\"]\s*,\s*(?P<what>\w+)")
_GATHERS = r"^{0}\s*\+=|^{0}\.(?:extend|append)\("
_PUTS_BACK = re.compile(
    r"\b\w*ref\w*\[\s*\w*(?:idx|index|ind|ids?)\w*\]\s*=|argsort\(\s*\w*(?:order|perm|idx|sampler)|"
    r"\binverse\w*|\.sort\(['\"](?:idx|index|id)|\.select\(\s*\w*(?:order|perm|sampler)",
    re.IGNORECASE,
)
FAR, SURE = 0.1, 9.2  # of a reward of the first step, which is 0 with the right reference
OF_OTHER_ROWS = (
    "each row has the reference's log-probs of another row: they are computed in the order of the "
    "loader ({how}) and stored as a column in the order of the data set. The mean over all rows is "
    "that of the right order, and the rewards of the pairs are far from 0 from the start"
)
IN_ORDER = (
    "a loader in the order of the rows (shuffle=False and no sampler), or write each value to the "
    "index of its row; see that the rewards of the first step are 0, and begin again from the "
    "policy as it was"
)


def reference_of_other_rows(beside: Beside, log: Log) -> Iterator[Finding]:
    """A loader with an order of its own, whose results become a column of the same data set."""
    lines = beside.words
    loads = next(((x, one) for x in lines if (one := _LOADS.search(x.text))), None)
    stores = next(((x, one) for x in lines if (one := _STORES.search(x.text))), None)
    entry = next((one for one in log.entries if "chosen_reward" in one.numbers), None)
    if loads is None or stores is None or entry is None or beside.matching(_PUTS_BACK):
        return
    if not any(re.match(_GATHERS.format(stores[1]["what"]), line.text) for line in lines):
        return
    shown = [n for n in ("chosen_reward", "rejected_reward", "margin") if n in entry.numbers]
    if max(abs(entry.numbers[name]) for name in shown) < FAR:
        return
    how = f"sampler {loads[1]['sampler']}" if loads[1]["sampler"] else "shuffle=True"
    proof = (_quoted(loads[0]), _quoted(stores[0]), f"{said(entry, *shown)} at {entry.where}")
    why = OF_OTHER_ROWS.format(how=how)
    yield Finding("wrong_reference", SURE, loads[0], proof, why=why, advice=IN_ORDER)


def _quoted(line: Line) -> str:
    return line.says
