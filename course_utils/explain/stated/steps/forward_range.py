"""A forward pass that leaves the range of float16, as somebody has measured it by hand."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose

_LIMIT = 65504.0  # of float16
_LIST = re.compile(r"^\W*\[(?P<items>(?:\s*['\"]?(?:-?\d[\d.e+]*|inf|nan)['\"]?\s*,){3,}.*)\]?\W*$")
_FORMAT = re.compile(
    r"\b(?:torch\.)?(?:(?P<half>float16|fp16|half)|(?P<wide>float32|fp32|bfloat16|bf16))\b\)?"
    r"\W{1,4}(?:loss\W{1,3})?(?P<value>nan|inf|\d+\.\d+)\W*$",
    re.IGNORECASE,
)
_ROW = re.compile(
    r"^[\W\d]*(?P<who>[A-Za-z][\w.\[\]]*)\W+(?:(?:abs)?[ _]?max\W+)?"
    r"(?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)\W*$",
    re.IGNORECASE,
)
_MEASURED = re.compile(r"\b(?:abs|max|amax|activations?|outputs?|hidden|hook)\b", re.IGNORECASE)
_IN_HALF = re.compile(
    r"\bfp16['\"]?(?:\s*[:=]\s*['\"]?true\b|(?!['\"]?\s*[:=]))|\b(?:torch\.)?float16\b|\.half\(\)",
    re.IGNORECASE,
)
OF_A_STEP = {"step", "epoch", "learning_rate", "grad_norm"}
ROWS, NEAR, ABOVE = 4, 0.1, 3  # of a list by blocks; of the limit; lines
_WITHOUT_BFLOAT16 = re.compile(r"\b(?:V100|T4|P100|P40|GTX ?1\d{3}|RTX ?20\d\d|Quadro RTX)\w*\b")
_MADE_WIDER = re.compile(  # models known to leave the range of float16
    r"\b(?:model|pretrain|base|tokenizer)\w*['\"]?[\s=:(]+['\"]?/?(?:[\w.-]+/)*"
    r"(?P<name>(?:(?:u?m|by|long-|flan-)?t5|gemma-?[23])[\w.-]*)|"
    r"from_pretrained\(\s*['\"](?:[\w.-]+/)*"
    r"(?P<also>(?:(?:u?m|by|long-|flan-)?t5|gemma-?[23])[\w.-]*)",
    re.IGNORECASE,
)
_NO_HALF = re.compile(r"\bbf16['\"]?\s*[:=]\s*['\"]?true|--bf16\b(?!\W+false)", re.IGNORECASE)
_STANDING = re.compile(r"scheduler\w*['\"]?\s*[=: ]\s*['\"]?constant", re.IGNORECASE)
OF_FAMILY = 9.3  # above a nan that the log hides
FAMILY = (
    "the forward pass leaves the range of float16: {model} is of a family that was pretrained in "
    "bfloat16, whose activations are known to pass 65504, and no loss is finite from the first "
    "entry on. Every step is then skipped or spoilt, whatever the learning rate"
)
SURE = 10.2  # the measurement beside the scaler's last word
OUTSIDE = (
    "the forward pass itself leaves the range of float16 (65504): {shown}. A loss scale acts on "
    "the gradients alone, so every scale overflows; no scale, learning rate or choice of rows "
    "helps. Models that were made in bfloat16 (T5 and others) do that"
)
WIDER = "train in {formats}, the whole model or the blocks that pass 65504; leave fp16 off"


def outside_of_float16(beside: Beside, log: Log) -> Iterator[Finding]:
    """Numbers above 65504 that are inf in float16, or a loss that is nan in float16 alone."""
    lines = beside.words
    lists, losses, rows = _by_block(lines), _by_format(lines), _by_rows(lines)
    if not lists and not losses:
        yield from _of_rows(beside, rows)
        yield from _of_a_list(beside)
        return
    told = [one for pair in (losses, lists) if pair for one in pair]
    shown = "one batch is finite in a wider format and is not in float16" if losses else ""
    if lists:
        most = max(value for value in _items(lists[0]) if math.isfinite(value))
        also = f"the same blocks that reach {most:g} are inf in float16"
        shown = f"{shown}, and {also}" if shown else also
    yield _finding(beside, told, shown)


def dead_in_float16(beside: Beside, log: Log) -> Iterator[Finding]:
    """A model of a family that was made in bfloat16, float16, and no finite loss from the start."""
    half, model = beside.first(_IN_HALF), beside.first(_MADE_WIDER)
    told = [e for e in log.entries if "loss" in e.numbers]
    entries = [e for e in told if e.numbers.keys() & OF_A_STEP] or told  # else of a trial by hand
    is_other = beside.matching(_NO_HALF) or is_prose(half[0].text if half else "")
    if not half or not model or is_other or len(entries) < ROWS or not all(map(_is_dead, entries)):
        return
    entry, rates = entries[0], log.values("learning_rate")
    proof = [model[0].says, half[0].says]
    proof.append(f"{entry.where}: {said(entry, 'loss', 'grad_norm')}, and so to the end")
    if len(rates) >= ROWS and len(set(rates)) == 1 and not beside.matching(_STANDING):
        proof.append(
            f"the rate is {rates[0]:g} in all {len(rates)} entries: where the scaler skips every "
            "step, the schedule takes none either"
        )
    old = beside.matching(_WITHOUT_BFLOAT16)
    formats = f"float32 ({old[1].rstrip('s')} has no bfloat16)" if old else "bfloat16 or float32"
    why = FAMILY.format(model=model[1]["name"] or model[1]["also"])
    advice = f"train in {formats}; leave fp16 off, and begin again from the pretrained weights"
    yield Finding(
        "fp16_overflow", OF_FAMILY, half[0], tuple(dict.fromkeys(proof)), why=why, advice=advice
    )


def _is_dead(entry: Entry) -> bool:
    """Whether its loss is nan, or a 0 that stands for it."""
    loss, norm = entry.numbers["loss"], entry.numbers.get("grad_norm", 0.0)
    return not math.isfinite(loss) or (loss == 0 and math.isnan(norm))


def _of_rows(beside: Beside, rows: list[Line]) -> Iterator[Finding]:
    """That the outputs of blocks grow from row to row up to inf, where float16 is asked for."""
    half = beside.matching(_IN_HALF)
    if not rows or half is None:
        return
    last, first = (" ".join(one.text.split()) for one in rows[1:])
    shown = f"the largest number of a block grows ({last}) until it is too large ({first})"
    yield _finding(beside, [*rows, half[0]], shown)


def _of_a_list(beside: Beside) -> Iterator[Finding]:
    """The same in one list, of which the items are blocks."""
    half = beside.matching(_IN_HALF)
    for line in beside.words if half else ():
        values = _items(line) if _LIST.match(line.text) else []
        turned = next((n for n, value in enumerate(values) if not math.isfinite(value)), 0)
        if turned >= ROWS and _runs_off(values, turned):
            shown = f"the largest number of a block grows to {values[turned - 1]:g} and then is inf"
            yield _finding(beside, [line, half[0]], shown)
            return


def _finding(beside: Beside, told: list[Line], shown: str) -> Finding:
    proof = tuple(one.says for one in told)
    old = beside.matching(_WITHOUT_BFLOAT16)
    formats = f"float32 ({old[1].rstrip('s')} has no bfloat16)" if old else "bfloat16 or float32"
    why, advice = OUTSIDE.format(shown=shown), WIDER.format(formats=formats)
    return Finding("fp16_overflow", SURE, told[0], proof, why=why, advice=advice)


def _by_rows(lines: list[Line]) -> list[Line]:
    """The first row of blocks with what was measured, the last finite one, and the first inf."""
    run: list[tuple[Line, float]] = []
    for number, line in enumerate([*lines, Line("line 0", "")]):
        if found := _ROW.match(line.text):
            run.append((line, float(found["value"])))
            continue
        values = [value for _, value in run]
        turned = next((n for n, value in enumerate(values) if not math.isfinite(value)), 0)
        above = lines[max(0, number - len(run) - ABOVE) : number]
        is_measured = any(_MEASURED.search(one.text) for one in above)
        if len(run) >= ROWS and turned > 1 and is_measured and _runs_off(values, turned):
            return [run[0][0], run[turned - 1][0], run[turned][0]]
        run = []
    return []


def _runs_off(values: list[float], turned: int) -> bool:
    """Whether numbers below the limit grow to near it, then to inf, with nothing finite after."""
    grows = all(now > before for before, now in pairwise(values[:turned]))
    is_near = NEAR * _LIMIT < values[turned - 1] < _LIMIT
    ends = not any(map(math.isfinite, values[turned:]))
    return grows and is_near and ends and math.isinf(values[turned])


def _by_block(lines: list[Line]) -> tuple[Line, Line] | None:
    """A list with numbers above the limit, and one that follows it up to there and has inf."""
    lists = [line for line in lines if _LIST.match(line.text)]
    for wide in lists:
        values = _items(wide)
        over = next((n for n, value in enumerate(values) if value > _LIMIT), 0)
        if not over or not all(map(math.isfinite, values)):
            continue
        for half in lists:
            other = _items(half)
            is_like = all(
                abs(a - b) <= 0.01 * a for a, b in zip(values[:over], other[:over], strict=False)
            )
            if is_like and len(other) > over and not math.isfinite(other[over]):
                return wide, half
    return None


def _items(line: Line) -> list[float]:
    found = re.findall(r"-?\d[\d.e+]*|\binf\b|\bnan\b", _LIST.match(line.text)["items"])
    return [float(one.rstrip(".")) for one in found]


def _by_format(lines: list[Line]) -> tuple[Line, Line] | None:
    """Two lines next to each other: finite in a wider format, nan or inf in float16."""
    for line, below in pairwise(lines):
        pair = [(one, _FORMAT.search(one.text)) for one in (line, below)]
        if not all(found for _, found in pair):
            continue
        bad = {one.where for one, m in pair if m["half"] and m["value"].lower() in ("nan", "inf")}
        good = {one.where for one, m in pair if m["wide"] and m["value"][0].isdigit()}
        if len(bad) == len(good) == 1:
            return line, below
    return None
