"""A schedule or a warm-up that was asked for by name, and a rate that is constant from the first
entry on."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose

_TYPE = r"(?:lr_)?scheduler(?:_type|_name)?['\"]?(?:\s*[=:]\s*|\s+)['\"]?"
_FALLS = re.compile(rf"\b{_TYPE}(?P<name>cosine|linear|polynomial)\b")
_CONSTANT = re.compile(rf"\b{_TYPE}(?P<name>constant)(?!_with_warmup|\w)")
_WARMS_UP = re.compile(
    r"\b(?:lr_)?warmup_(?:ratio|steps)['\"]?(?:\s*[=:]\s*|\s+)['\"]?(?!0(?:\.0*)?(?![\d.]))[\d.]+"
)
_OF_DEEPSPEED = re.compile(r"['\"]type['\"]\s*:\s*['\"](?P<name>WarmupLR)['\"]")
_OF_WARM_UP = re.compile(r"\bwarm[- ]?up\b", re.IGNORECASE)
REARS, SOON = 1.1, 4  # times the first loss; entries
SAME, FEW, LATE = 0.01, 4, 0.7  # of a rate; entries; of the epochs
SURE = 8.2
HOLDS = (
    "the DeepSpeed file has a scheduler of its own ({file}), and it wins over lr_scheduler_type="
    "{asked}: WarmupLR rises and then holds the rate, so that it never falls and the run ends at "
    "its full height"
)
LEAVE_OUT = (
    "take the scheduler block out of the DeepSpeed file, so that the Trainer makes its own, or "
    "give it a type that decays (WarmupDecayLR, WarmupCosineLR); see in the log that the rate falls"
)
NO_WARM_UP = (
    "lr_scheduler_type=constant has no warm-up: {warm_up} is read and not used, and the first step "
    "has the full rate already"
)
WITH_WARM_UP = (
    "lr_scheduler_type='constant_with_warmup' (or cosine, linear), which uses warmup_ratio and "
    "warmup_steps; see that the first rates rise"
)


def another_schedule(beside: Beside, log: Log) -> Iterator[Finding]:
    """A constant rate, where a file holds it or the name of the schedule has no warm-up."""
    rates = [(e, v) for e, v in log.series("learning_rate") if 0 < v < math.inf]
    if len(rates) < FEW or any(abs(v / rates[0][1] - 1) > SAME for _, v in rates):
        return
    entry = rates[0][0]
    constant = f"{said(entry, 'learning_rate')} in all {len(rates)} entries"
    if (held := _held(beside)) and _is_long(log):
        asked, file = held
        why = HOLDS.format(file=_name(_OF_DEEPSPEED, file), asked=_name(_FALLS, asked))
        proof = (asked.says, file.says, f"{constant}, to {rates[-1][0].where}")
        yield Finding("rate_not_asked", SURE, entry, proof, why=why, advice=LEAVE_OUT)
    elif (named := _constant(beside)) and (_asks(beside) or _rears_up(log)):
        line, warm_up = named
        why = NO_WARM_UP.format(warm_up=warm_up)
        proof = (line.says, f"{constant}, from {entry.where} on")
        yield Finding("rate_not_asked", SURE, entry, proof, why=why, advice=WITH_WARM_UP)


def _held(beside: Beside) -> tuple[Line, Line] | None:
    """The line that asks for a schedule that falls, and the one of the file that holds."""
    asked, file = _set(beside, _FALLS), _set(beside, _OF_DEEPSPEED)
    return (asked, file) if asked and file else None


def _constant(beside: Beside) -> tuple[Line, str] | None:
    """The line that asks for a constant rate, and the warm-up that is set beside it."""
    line, warm_up = _set(beside, _CONSTANT), _set(beside, _WARMS_UP)
    if line is None or warm_up is None or _set(beside, _FALLS):
        return None
    return line, _WARMS_UP.search(warm_up.text)[0]


def _asks(beside: Beside) -> bool:
    """Whether a sentence, or the title of the paste, speaks of the warm-up."""
    return any(_OF_WARM_UP.search(line.text) for line in beside.told()) or any(
        _OF_WARM_UP.search(line.text) and not _WARMS_UP.search(line.text)
        for line in beside.words[:1]
    )


def _rears_up(log: Log) -> bool:
    """Whether the loss is well above its start in one of the next entries."""
    losses = log.values("loss")[: SOON + 1]
    return bool(losses) and max(losses) > REARS * losses[0]


def _set(beside: Beside, pattern: re.Pattern) -> Line | None:
    """The last line with such a setting that is code, a command or a file."""
    lines = [line for line, _ in beside.all_matching(pattern)]
    return next((line for line in reversed(lines) if not is_prose(line.text)), None) or next(
        (line for line in reversed(lines) if "--" in line.text or "=" in line.text), None
    )


def _name(pattern: re.Pattern, line: Line) -> str:
    return pattern.search(line.text)["name"]


def _is_long(log: Log) -> bool:
    """Whether the entries span most of the run, so that a schedule that falls would have fallen:
    the run says that it is over, or an epoch has passed."""
    epochs = [value for value in log.values("epoch") if math.isfinite(value)]
    return log.summary is not None or (bool(epochs) and max(epochs) - min(epochs) > LATE)
