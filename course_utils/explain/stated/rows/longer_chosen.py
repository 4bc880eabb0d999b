"""Pairs whose chosen reply is mostly the longer one, and a model that has learnt to write long."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, plain_number, share
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, thirds
from course_utils.explain.paste.side_tables import side_tables

_PART = r"(?P<{}>\d{{1,3}}(?:\.\d+)? ?%|0?\.\d+|1\.0+)"
_LONGER_IN = re.compile(
    r"\bchosen\b[^\n\d%]{0,60}\blonger\b[^\n\d]{0,40}"
    + _PART.format("a")
    + "|"
    + _PART.format("b")
    + r"[^\n\d]{0,60}\bchosen\b[^\n\d]{0,60}\blonger\b|"
    r"\b(?:len|n?_?tok)[^\n]{0,30}chosen[^\n]{0,30}>[^\n]{0,40}rejected[^\n]{0,40}?[=:#>\s]\s*"
    + _PART.format("c")
    + r"|\blong(?:er|est)\b[-'\" _]{1,3}(?:wins|one|reply|response|answer|baseline|"
    r"heuristic|is better|always|alone)\b[^\n\d]{0,40}" + _PART.format("d"),
    re.IGNORECASE,
)
_ASKS_LONGER = re.compile(r"\b(?:len|n?_?tok).*chosen.*>.*rejected", re.IGNORECASE)
_ANSWER = re.compile(r"^\W*(?:np\.\w+\(|tensor\()?" + _PART.format("a") + r"\W*$")
_LENGTHS = re.compile(
    r"\bchosen\w*\b[^\n\d]{0,30}(?P<a>\d[\d,]*(?:\.\d+)?)(?![\d.]*%)[^\n]{0,40}?"
    r"\brejected\w*\b[^\n\d]{0,30}(?P<b>\d[\d,]*(?:\.\d+)?)(?![\d.]*%)",
    re.IGNORECASE,
)
_OF_LENGTH = re.compile(
    r"\b\w*(?:tok(?:en)?s?|len(?:gth)?s?|words|chars|characters)\b", re.IGNORECASE
)
_NOT_A_MEAN = re.compile(r"max|limit|new|/s\b|per sec", re.IGNORECASE)
_UNIT = r"(?:\s*(?:tok\w*|words|chars|characters))?(?:\s*\([^)\d]*\))?"
_ARROW = re.compile(
    rf"(?P<a>\d[\d,]*(?:\.\d+)?){_UNIT}\s*(?:->|=>|\u2192|\bto\b|\bvs\.?)\s*(?P<b>\d[\d,]*(?:\.\d+)?)"
)
_BEFORE, _AFTER = r"\b(?:before|sft|base)\b", r"\b(?:after|dpo|now|trained|rlhf|ppo)\b"
_STAGES = (  # the stage named in front of its number, or behind it
    re.compile(
        rf"{_BEFORE}[^\n\d]{{0,40}}(?P<a>\d[\d,]*)[^\n\d]{{0,60}}{_AFTER}[^\n\d]{{0,40}}"
        r"(?P<b>\d[\d,]*)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<a>\d[\d,]*){_UNIT}\s*{_BEFORE}[^\n\d]{{0,30}}(?P<b>\d[\d,]*){_UNIT}\s*{_AFTER}",
        re.IGNORECASE,
    ),
)
_CONTROLLED = re.compile(r"\bLC\b|length[- ]controlled", re.IGNORECASE)
_SHORTER = re.compile(
    r"\bshort(?:er|est)?\b[^\n\d%]{0,70}"
    + _PART.format("a")
    + "|"
    + _PART.format("b")
    + r"[^\n\d]{0,60}\bshort(?:er|est)?\b",
    re.IGNORECASE,
)
_REWARD_MODEL = re.compile(r"\bRewardTrainer\b|\breward model\w*|\bRM\b|\btrain_rm\b")
_COUNTS_LENGTH = re.compile(
    r"\bld_alpha\b|\bsimpo_gamma\b|length[_ -](?:penalt\w+|normali[sz]\w+)|\bld-?dpo\b|\br-dpo\b",
    re.IGNORECASE,
)
MOST, TIMES, GROWN, BELOW_A_COIN = 0.75, 1.5, 1.4, 0.45
NEAR, FEWEST = 3, 20.0  # lines below a question; tokens of a mean
LONGER_WINS = (
    "chosen and rejected are told apart by their length: {how}{sum}, so that 'longer is "
    "better' is the cheapest thing to learn. The model has learnt that, and margin and accuracy do "
    "not show it"
)
OF_A_SUM = ", and the log-prob of a reply is a sum over its tokens"
BALANCE = (
    "balance the lengths in the pairs (drop or resample until the chosen one is longer in about "
    "half of them) and judge with a length-controlled score; or a loss that takes the length out "
    "(SimPO, LD-DPO, a length-normalised or length-penalised DPO). Train again from the start"
)


def longer_is_better(beside: Beside, log: Log) -> Iterator[Finding]:
    """Lengths that tell chosen from rejected, beside replies that grow or a score by length."""
    told = [*_in_most(beside), *_far_longer(beside)]
    if not told or beside.matching(_COUNTS_LENGTH):
        return
    effects = [*_controlled(beside), *_right_where_shorter(beside), *_grown(beside, log)]
    if not effects:
        return
    proof = tuple(dict.fromkeys([line.says for line, _ in told] + effects))
    is_sum = not (log.scores_alone or beside.matching(_REWARD_MODEL))
    shown = "; ".join(how for _, how in told)
    why = LONGER_WINS.format(how=shown, sum=OF_A_SUM if is_sum else "")
    is_counted = any("in" in how.split()[:1] for _, how in told)
    yield Finding(
        "length_tells", 8.5 if is_counted else 7.2, told[0][0], proof, why=why, advice=BALANCE
    )


def _in_most(beside: Beside) -> Iterator[tuple[Line, str]]:
    """That the chosen reply is the longer one in most pairs."""
    lines = beside.words
    for number, line in enumerate(lines):
        part = _share_in(_LONGER_IN, line.text)
        if part is None and _ASKS_LONGER.search(line.text):
            below = (_share_in(_ANSWER, one.text) for one in lines[number + 1 : number + 1 + NEAR])
            part = next((one for one in below if one is not None), None)
        if part is not None and MOST <= part <= 1:
            yield line, f"in {part:.0%} of the pairs the longer one is chosen"
            return


def _share_in(pattern: re.Pattern, text: str) -> float | None:
    found = pattern.search(text)
    return share(next(filter(None, found.groups()))) if found else None


def _far_longer(beside: Beside) -> Iterator[tuple[Line, str]]:
    """That the chosen replies are far longer in the mean."""
    for line in beside.words:
        found = _LENGTHS.search(line.text)
        if not found or not _OF_LENGTH.search(line.text) or _NOT_A_MEAN.search(line.text):
            continue
        chosen, rejected = plain_number(found["a"]), plain_number(found["b"])
        if rejected >= FEWEST and chosen >= TIMES * rejected:
            yield line, f"the chosen one is {chosen / rejected:.1f} times as long"
            return


def _controlled(beside: Beside) -> Iterator[str]:
    """A length-controlled score that does not rise while another one does."""
    for table in side_tables(beside):
        columns = [table.column(at) for at in range(len(table.names))]
        is_controlled = [bool(_CONTROLLED.search(name)) for name in table.names]
        rises = [len(one) > 2 and one[-1][1] > one[0][1] for one in columns]
        falls = [len(one) > 2 and one[-1][1] <= one[0][1] for one in columns]
        if any(r and not c for r, c in zip(rises, is_controlled, strict=True)) and any(
            f and c for f, c in zip(falls, is_controlled, strict=True)
        ):
            yield f"{table.where}: the length-controlled score does not rise, and the raw one does"
            return


def _right_where_shorter(beside: Beside) -> Iterator[str]:
    """How few pairs are right of those whose better reply is the shorter one."""
    for line in beside.words:
        part = _share_in(_SHORTER, line.text)
        if part is not None and part < BELOW_A_COIN and re.search(r"right|acc|correct", line.text):
            yield line.says
            return


def _grown(beside: Beside, log: Log) -> Iterator[str]:
    """Replies that have become far longer, in a table, a sentence or the log."""
    for table in side_tables(beside):
        for at in table.places(_OF_LENGTH):
            column = table.column(at)
            if len(column) > 2 and _has_grown(column[0][1], column[-1][1]):
                name = table.names[at]
                yield f"{table.where}: {name} {column[0][1]:g} to {column[-1][1]:g}"
                return
    lines = beside.words
    for some in [*([line] for line in lines), *pairwise(lines)]:
        if _says_it_grew(" ".join(line.text for line in some)):
            yield "; ".join(line.says for line in some)
            return
    levels = thirds(log.values("length"))
    if levels and _has_grown(levels[0], levels[2]):
        yield f"the length of the replies by thirds of the log: {listed(levels)}"


def _says_it_grew(text: str) -> bool:
    """
    >>> _says_it_grew("reply tokens: sft 301, dpo 894"), _says_it_grew("tokens 301 to 310")
    (True, False)
    """
    if not _OF_LENGTH.search(text) or _NOT_A_MEAN.search(text):
        return False
    found = (pattern.search(text) for pattern in (_ARROW, *_STAGES))
    return any(m and _has_grown(plain_number(m["a"]), plain_number(m["b"])) for m in found)


def _has_grown(before: float, after: float) -> bool:
    return before >= FEWEST and GROWN * before <= after < 50 * before
