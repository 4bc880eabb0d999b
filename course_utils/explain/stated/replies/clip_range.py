"""A clip range made for the ratios of whole replies, beside ratios of single tokens."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.sentences import is_prose

_IS = r"['\"]?(?:\s*[:=]\s*|\s+)['\"]?"
_LIMITS = (
    r"ratio_clip_(?:min|max)|clip_ratio(?:_(?:low|high))?|eps[-_]clip(?:[-_]high)?|"
    r"clip_eps(?:ilon)?(?:_(?:low|high))?|cliprange|epsilon(?:_high)?"
)
_RANGE = re.compile(  # a flag, or what is assigned: `clip_ratio 0.001` is measured
    rf"(?<![\w/-])(?P<dashes>--)?(?P<name>{_LIMITS})(?(dashes)[\s=]|['\"]?\s*[:=])"
    r"\s*['\"]?(?P<value>\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.])"
)
_LEVEL = re.compile(
    rf"\b(?:sequence_level_importance_ratios{_IS}(?P<flag>true|false)|"
    rf"importance_sampling_level{_IS}(?P<level>\w+)|(?:policy_loss\.)?loss_mode{_IS}(?P<mode>\w+)|"
    rf"(?:advantage[-_]estimator|ratio_type){_IS}(?P<estimator>\w+))",
    re.IGNORECASE,
)
_OF_REPLIES = re.compile(r"gspo|gmpo|geo|seq|^true$", re.IGNORECASE)
_OF_TOKENS = {"false", "token", "vanilla", "grpo"}
_SPOKEN = re.compile(r"\bgspo\b|\bsequence[- _]level|\bgeometric", re.IGNORECASE)
_RATIO = re.compile(
    r"\b(?P<name>\w*ratio_(?P<end>min|max))\W{1,3}(?P<value>\d+\.\d+)(?![\w.])", re.IGNORECASE
)
TINY, OF_A_SUM = 0.005, 5e-5  # a token's ratio leaves it at once; eps of a norm or of Adam
NARROW = (
    "{name} {value} is a clip range for the ratio of a whole reply (as in GSPO), and the ratios "
    "here are those of single tokens, which are soon several hundredths from 1: behind the first "
    "update of a batch nearly every token that has moved the wanted way is clipped and has no "
    "gradient, so that more updates of a batch teach nothing"
)
WIDER = (
    "a clip range of 0.2 (0.2 to 0.28) for ratios of tokens, or ratios of whole replies again with "
    "this range; the gradient norm of the later updates of a batch then is that of the first"
)


def narrow_for_tokens(beside: Beside, log: Log) -> Iterator[Finding]:
    """All limits that are set are tiny, and the last setting of the ratio is one of tokens."""
    ranges = _ranges(beside)
    shares = finite(log.values("clip_ratio"))
    if not ranges or max(value for _, _, value in ranges) > TINY:
        return
    if shares and not any(shares):
        return  # nothing is clipped: one update for each batch
    level = _level(beside)
    if level is None and beside.matching(_SPOKEN):
        return
    if level and not level[1]:
        return
    line, name, value = ranges[0]
    shown = list(dict.fromkeys((line, *([level[0]] if level else []))))
    proof = [one.says for one in shown]
    proof += _leaves(beside, log, value)
    why = NARROW.format(name=name, value=f"{value:g}")
    weight = 9.0 if len(proof) > 2 else 8.0 if level else 6.0
    yield Finding("clip_of_whole_replies", weight, line, tuple(proof), why=why, advice=WIDER)


def _ranges(beside: Beside) -> list[tuple[Line, str, float]]:
    """The last value of each limit of the ratio outside of sentences, but for a 0 (not set)
    and for what keeps a sum from 0."""
    found: dict[str, tuple[Line, str, float]] = {}
    for line in beside.words:
        for one in _RANGE.finditer(line.text) if not is_prose(line.text) else ():
            if float(one["value"]) > OF_A_SUM:
                found[one["name"].replace("-", "_")] = (line, one["name"], float(one["value"]))
    return list(found.values())


def _level(beside: Beside) -> tuple[Line, bool] | None:
    """The last line that sets of what a ratio is, and whether it is of tokens."""
    last = None
    for line in beside.words:
        for one in _LEVEL.finditer(line.text) if not is_prose(line.text) else ():
            said = next(filter(None, one.groups())).lower()
            if said in _OF_TOKENS or _OF_REPLIES.search(said):
                last = (line, said in _OF_TOKENS)
    return last


def _leaves(beside: Beside, log: Log, limit: float) -> list[str]:
    """A printed ratio that is far outside of the range."""
    parts: list[Line | Entry] = [*(line for line in beside.words), *log.entries]
    for part in sorted(parts, key=place):
        for one in _RATIO.finditer(part.text):
            if "clamp" not in one["name"] and abs(float(one["value"]) - 1) > 10 * limit:
                return [f"{part.where}: {one['name']} {one['value']}, far outside of the range"]
    return []
