"""An adapter that is merged by code of one's own, at another scale than it was trained with."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log

_RANK = r"(?:\w+(?:\.\w+)*\.)?(?:\w+\[['\"])?\b(?:lora_)?(?:r|rank)\b(?:['\"]\])?"
_BY_RANK = re.compile(rf"^[^#]*=\s*[^=]*\b(?:lora_)?alpha\b['\"]?\]?\)?\s*/\s*\(?{_RANK}")
_BY_ROOT = re.compile(
    r"^[^#]*=\s*[^=]*\b(?:lora_)?alpha\b['\"]?\]?\)?\s*/\s*(?:\(?(?:\w+\.)?sqrt\(|"
    rf"\(?{_RANK}\s*\*\*\s*\(?(?:0?\.5|1 ?/ ?2))"
)
_ASKS = re.compile(r"\b(?:el)?if\b.*rslora|rslora['\"]?\]?\)?\s*(?:else|and|or)\b", re.I)
_ROOTED = re.compile(r"\buse_rslora['\"]?\s*[:=]\s*(?P<value>true|false)\b", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\w.])['\"]?(?:lora_)?(?:r|rank)['\"]?\s*[:=]\s*(?P<value>\d+)\b")
_ALPHA = re.compile(r"\b(?:lora_)?alpha['\"]?\s*[:=]\s*(?P<value>\d+)\b")
_APPLIES = re.compile(r"lora_B|\bB\b.*@|@\s*A\b|torch\.mm|\bmerg|delta", re.IGNORECASE)
_NORM = re.compile(r"\.norm\(\).*?(?:->|=|:)\s*(?P<value>\d+\.\d+)\s*$")
NEAR, SURE = 0.02, 9.2  # of a ratio
ANOTHER_SCALE = (
    "the merge is done at another scale than the training: the adapter has use_rslora {rooted}, so "
    "that its product is scaled by {trained}, and the code scales it by {merged}{by}. {so}"
)
TOO_SMALL = "The change is merged too small, and the model is near its base"
TOO_LARGE = "The change is merged too large"
AS_IT_WAS = (
    "s = alpha / sqrt(r) if use_rslora else alpha / r, with rank_pattern and alpha_pattern where "
    "they are set, and nothing that use_dora adds left out; then compare the logits of the merged "
    "model with those of base and adapter. The adapter itself is sound"
)


def merged_at_another_scale(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that scales by alpha / r what was trained with alpha / sqrt(r), or the other way."""
    rooted = next(iter(_values(beside, _ROOTED)), None)
    if rooted is None or beside.matching(_ASKS) or not beside.matching(_APPLIES):
        return
    by_root = beside.matching(_BY_ROOT)
    code = by_root or beside.matching(_BY_RANK)
    is_rooted = rooted[1].lower() == "true"
    if code is None or is_rooted == bool(by_root):
        return
    size, alpha = (next(iter(_values(beside, one)), None) for one in (_SIZE, _ALPHA))
    forms = ("alpha / sqrt(r)", "alpha / r")
    trained, merged = forms if is_rooted else forms[::-1]
    by = _numbers(int(size[1]), int(alpha[1]), is_rooted) if size and alpha else ""
    proof = [
        rooted[0].says,
        code[0].says,
        *(_measured(beside, math.sqrt(int(size[1]))) if size else ()),
    ]
    so = TOO_SMALL if is_rooted else TOO_LARGE
    names = {"rooted": rooted[1].lower(), "trained": trained, "merged": merged}
    why = ANOTHER_SCALE.format(**names, by=by, so=so)
    yield Finding("merged_not_equal", SURE, code[0], tuple(proof), why=why, advice=AS_IT_WAS)


def _values(beside: Beside, pattern: re.Pattern) -> Iterator[tuple[Line, str]]:
    """Each value of a setting that is written down, with its line."""
    for line in beside.words:
        if found := pattern.search(line.text):
            yield line, found["value"]


def _numbers(size: int, alpha: int, is_rooted: bool) -> str:
    """Both scales in numbers."""
    scales = [alpha / math.sqrt(size), alpha / size]
    trained, merged = scales if is_rooted else scales[::-1]
    factor = max(trained / merged, merged / trained)
    return f" ({trained:.3g} and {merged:.3g}, with r {size} and alpha {alpha}: {factor:.3g} times)"


def _measured(beside: Beside, factor: float) -> list[str]:
    """Two norms of one change, one below the other, that are apart by that factor."""
    for line in beside.words:
        values = [float(one) for one in re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", line.text)]
        if len(values) == 2 and min(values) > 0:
            apart = max(values) / min(values)
            if abs(apart / factor - 1) < NEAR:
                return [f"{line.where}: norms {values[0]:g} and {values[1]:g}, {apart:.3g} times"]
    found = [(line, float(one["value"])) for line, one in _norms(beside)]
    for (line, one), (other, two) in pairwise(found):
        is_beside = 0 < place(other) - place(line) <= 2 and min(one, two) > 0
        if is_beside and abs(max(one, two) / min(one, two) / factor - 1) < NEAR:
            apart = max(one, two) / min(one, two)
            return [f"{line.where} and {other.where}: norms {one:g} and {two:g}, {apart:.3g} times"]
    return []


def _norms(beside: Beside) -> Iterator[tuple[Line, re.Match]]:
    return ((line, one) for line in beside.words if (one := _NORM.search(line.text)))
