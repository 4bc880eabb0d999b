"""A table of several trainers, of which one leaves the others as the rate falls: its weights are
rounded to bfloat16."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, is_prose
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.side_tables import SideTable, side_tables

OF_WEIGHTS = re.compile(
    r"(?<![\w_])(?:model_|torch_)?dtype['\"]?\s*[:=]\s*['\"]?(?:torch\.)?(?:bfloat16|bf16)\b|"
    r"\bset_default_dtype\(\s*(?:torch\.)?bfloat16|\bpure_bf16['\"]?\s*[:=]\s*['\"]?true|\bbf16-true\b|"
    r"\b(?:model|policy|actor|net|student)\.(?:bfloat16\(|to\([^)]*\bbfloat16)|"
    r"\b(?:param\w* storage|exp_avg\w*(?:/exp_avg_sq)?|(?:optimizer|adam)\w* states?)\W{1,3}"
    r"(?:in |dtype\W+)?(?:torch\.)?(?:bfloat16|bf16)\b",
    re.IGNORECASE,
)
FLOAT32_KEPT = re.compile(
    r"\bmaster[_ ]?(?:weights?|param\w*)\W{1,3}(?:true|in (?:float32|fp32))|"
    r"\boptimizer_dtype['\"]?\W{1,3}(?:torch\.)?(?:float32|fp32)|\b(?:q?lora|peft|adapter)\b",
    re.IGNORECASE,
)
_STATE_SIZE = re.compile(r"optim.*?\s(?P<size>\d+(?:\.\d+)?)\s*(?P<unit>[MG])(?:i?B)?\s*$", re.I)
_WHOLE_SIZE = re.compile(r"^(?=.*weights?\b)(?=.*\b(?:optim\w*|adam)\b)", re.IGNORECASE)
_OF_RUN = re.compile(r"(?P<who>\b\w+)[ :=]+(?P<size>\d+(?:\.\d+)?) ?(?P<unit>[MG])(?P<i>i?)B\b")
_WEIGHTS = re.compile(r"\b(\d+(?:\.\d+)?) ?(?:B|billion) (?:param|weights)", re.IGNORECASE)
_RATE = re.compile(r"^(?:lr|learning[ _]rate)$", re.IGNORECASE)
SAME, OPENS, FEW = 0.03, 1.5, 6  # of a loss; times the others; rows
_NO_LOSS = re.compile(r"lr\b|learning|norm|grad|time|tok|step|s/it|mem", re.IGNORECASE)
THIRD = (2.5, 3.6)  # by which 12 bytes a weight are more than 4
SIX, TWELVE = (5.5, 6.6), 11.5  # bytes a weight: three numbers of bfloat16; of float32
ROUNDED = (
    "weights and Adam's moments are kept in bfloat16, with no float32 copy of the weights: updates "
    "that are small beside a weight are rounded away, the more of them the smaller the rate, and "
    "the loss stays above that of the runs beside it"
)
KEEP_FLOAT32 = (
    "keep weights and moments in float32 (load them so) and compute in bfloat16 by mixed precision "
    "(FSDP2: MixedPrecisionPolicy(param_dtype=bfloat16); some engines: optimizer_dtype float32); "
    "or an optimizer that rounds stochastically or keeps what it rounds off (Kahan)"
)
LARGER_HIDES = "; a larger rate only hides it"


def gap_as_the_rate_falls(beside: Beside) -> Iterator[Finding]:
    """Runs that begin alike, of which one stays above the others as the rate falls, in bfloat16."""
    kept = _printed(beside, OF_WEIGHTS)
    if kept is None or beside.matching(FLOAT32_KEPT):
        return
    for table in side_tables(beside):
        if not (gap := _gap(table)):
            continue
        sizes = _sizes(beside) or _sizes_a_weight(beside)
        proof = (f"{kept[0].where} says: {kept[1]}", gap, *sizes)
        at = table.rows[-1][0]
        against = () if sizes else ("no rule tells the size of the optimizer's state",)
        yield Finding(
            "rounding_swallows",
            8.5 if sizes else 5.5,
            at,
            proof,
            against,
            why=ROUNDED,
            advice=KEEP_FLOAT32,
        )
        return


def _printed(beside: Beside, pattern: re.Pattern) -> tuple[Line, str] | None:
    found = beside.all_matching(pattern)
    return next((one for one in found if not is_prose(one[0].text)), None)


def _gap(table: SideTable) -> str:
    """How one column leaves the others, which it begins with, while the rate falls; "" if not."""
    rates = next((table.column(at) for at in table.places(_RATE)), [])
    if len(rates) < FEW or not rates[-1][1] < 0.1 * max(rate for _, rate in rates):
        return ""
    columns = {name: table.column(at) for at, name in enumerate(table.names)}
    falls = {
        name: [value for _, value in one]
        for name, one in columns.items()
        if len(one) == len(rates) and 0 < one[-1][1] < one[0][1] and not _NO_LOSS.search(name)
    }
    for name, mine in falls.items():
        for other, theirs in falls.items():
            ratios = [a / b for a, b in zip(mine, theirs, strict=True) if b]
            opens = sum(later >= one for one, later in pairwise(ratios)) >= 0.8 * (len(ratios) - 1)
            if abs(ratios[0] - 1) < SAME and ratios[-1] > OPENS and opens:
                rows = table.rows
                return (
                    f"{name} and {other}: {mine[0]:g} and {theirs[0]:g} at {rows[0][0].where}, "
                    f"{mine[-1]:g} and {theirs[-1]:g} at {rows[-1][0].where}; the gap opens as the "
                    f"rate falls to {rates[-1][1]:.2g}"
                )
    return ""


def _sizes(beside: Beside) -> list[str]:
    """Two states of an optimizer, one of which is a third of the other: 4 and 12 bytes a weight."""
    found = []
    for line in beside.words:
        if one := _STATE_SIZE.search(line.text):
            found.append((float(one["size"]) * (1024 if one["unit"] in "Gg" else 1), one, line))
    if len(found) < 2:
        return []
    (low, small, at), (high, large, other) = min(found, key=_of_size), max(found, key=_of_size)
    if not THIRD[0] <= high / low <= THIRD[1]:
        return []
    return [
        f"the optimizer's state has {small['size']}{small['unit']} at {at.where} and "
        f"{large['size']}{large['unit']} at {other.where}: about 4 bytes a weight (two moments in "
        "bfloat16) against 12 (weights and two moments in float32)"
    ]


def _sizes_a_weight(beside: Beside) -> list[str]:
    """Bytes a weight of weights and optimizer in the runs that one line names: 6 and 12 or more."""
    counted = beside.matching(_WEIGHTS)
    weights = float(_WEIGHTS.search(counted[1])[1]) * 1e9 if counted else 0.0
    for line in beside.words if weights else ():
        if not _WHOLE_SIZE.search(line.text):
            continue
        each = {one["who"]: _bytes(one) / weights for one in _OF_RUN.finditer(line.text)}
        low, high = (pick(each, key=each.get, default="") for pick in (min, max))
        if len(each) > 1 and SIX[0] < each[low] < SIX[1] and each[high] > TWELVE:
            return [
                f"{line.where} says: {' '.join(line.text.split())}; at {counted[1].split()[0]} "
                f"weights ({counted[0].where}) {low} has {each[low]:.1f} bytes a weight and {high} "
                f"{each[high]:.1f}: 6 are weight and two moments in bfloat16, 12 in float32"
            ]
    return []


def _bytes(one: re.Match) -> float:
    base = 1024 if one["i"] else 1000
    return float(one["size"]) * base ** (3 if one["unit"] == "G" else 2)


def _of_size(one: tuple[float, re.Match, Line]) -> float:
    return one[0]
