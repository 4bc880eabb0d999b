"""The base of rotary positions, of a checkpoint and of its trainer: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, is_prose
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log

_BASE = re.compile(
    r"\b(?P<name>rope_theta|rotary_base|rotary_emb_base|rope_base|rope_freq_base|rotary-base)['\"]?"
    r"(?:\s*[:=]\s*|\s+\.{3,}\s+|\s+)(?P<value>\d[\d_]*(?:\.\d+)?(?:e\+?\d+)?)",
    re.IGNORECASE,
)
_ON_PURPOSE = re.compile(
    r"\brope[-_ ]scaling['\"]?\W{1,4}(?!none|null|false)\w|\b(?:yarn|ntk|abf)\b|"
    r"\b(?:extend|longer|long)[- ]?(?:ed|ing)?[- ]context",
    re.IGNORECASE,
)
_ROW = re.compile(r"^\W*(?P<place>\d+ ?(?:-|to|\.\.) ?\d+)\s+(?P<a>\d+\.\d+)\s+(?P<b>\d+\.\d+)\W*$")
FEW, ALIKE, APART = 3, 0.05, 1.5  # rows; of the first of them; times the other in the last
OTHER_BASE = (
    "the trainer gives the positions another base than the checkpoint was trained with ({} {} "
    "against {} {}): though the weights may be right to the last bit, each token beyond the first "
    "few is read at a wrong distance, the worse the further on it stands"
)
SAME_BASE = (
    "give the trainer the checkpoint's own base ({}), best by reading the arguments from the "
    "checkpoint; see that the first loss is that of the other framework, and begin again from the "
    "converted weights"
)


def other_base(log: Log, beside: Beside) -> Finding | None:
    """Two names of the base with two values, and losses by position that part with it."""
    found = [
        (line, one)
        for line in beside.words
        if not is_prose(line.text)
        for one in _BASE.finditer(line.text)
    ]
    of_file = [one for one in found if one[1]["name"].lower() == "rope_theta"]
    of_trainer = [one for one in found if one[1]["name"].lower() != "rope_theta"]
    if not of_file or not of_trainer or beside.matching(_ON_PURPOSE):
        return None
    (at, theirs), (line, mine) = of_file[-1], of_trainer[-1]
    if plain_number(theirs["value"]) == plain_number(mine["value"]):
        return None
    told = _by_position(beside)
    proof = (
        f"{at.where} says: {theirs[0].strip()}",
        f"{line.where} says: {mine[0].strip()}",
        *told,
    )
    against = () if told else ("no loss by position is read beside it, which would show it",)
    why = OTHER_BASE.format(mine["name"], mine["value"], theirs["name"], theirs["value"])
    advice = SAME_BASE.format(theirs["value"])
    weight = 8.8 if told else 6.0
    return Finding("positions_wrong", weight, line, proof, against, why=why, advice=advice)


def _by_position(beside: Beside) -> list[str]:
    """Rows of places and two losses, which begin alike and part further and further."""
    rows: list[tuple[Line, re.Match]] = [
        (line, found) for line in beside.words if (found := _ROW.match(line.text))
    ]
    if len(rows) < FEW:
        return []
    (first, one), (last, other) = rows[0], rows[-1]
    begins = abs(float(one["a"]) / float(one["b"]) - 1) <= ALIKE
    ends = sorted(float(other[name]) for name in ("a", "b"))
    if not begins or ends[1] < APART * ends[0]:
        return []
    return [
        f"at the places {one['place']} the two have {one['a']} and {one['b']} ({first.where}), at "
        f"{other['place']} {other['a']} and {other['b']} ({last.where}): they part with the place"
    ]


RULES_OF_SETTINGS = (other_base,)
