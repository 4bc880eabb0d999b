"""A run that was asked for epochs and for max_steps, which wins: it ends within the first one."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.paste.usual_words import TOTAL_STEPS

_N = r"['\"]?(?:\s*[=:]\s*|\s+)['\"]?"
_STEPS = re.compile(
    rf"(?<![\w.])(?:--)?(?:max|total)_(?:train(?:ing)?_)?steps{_N}(?P<n>[1-9][\d_]*)(?![\w.])"
)
_EPOCHS = re.compile(
    r"(?<![\w.])(?:--)?(?:(?:num|total|max|n)_(?:train_|training_)?)?epochs"
    rf"{_N}(?P<n>\d+(?:\.\d+)?)(?![\w.]*\w)"
)
OF_A_DUMP = re.compile(  # all settings are printed, the defaults as well
    r"\b(?:past_index|logging_nan_inf_filter|dataloader_pin_memory|_n_gpu|ddp_bucket_cap_mb)\b"
)
_ROWS = re.compile(
    r"\bNum examples\s*[=:]\s*([\d,]+)|(?<![\d,.])(\d[\d,]{2,}) (?:\w+ ){0,2}?(?:rows|examples|"
    r"samples|pairs|conversations)\b",
    re.IGNORECASE,
)
_BATCH = re.compile(r"\bTotal (?:train )?batch size[^=:\n]{0,60}[=:]\s*([\d,]+)", re.IGNORECASE)
_TRIED = re.compile(r"\b(?:smoke|quick|sanity|dry)[- ]?(?:test|run|check)|\boverfit\w* (?:one|a)\b")
MOST, NOTHING = 0.5, 0.03  # of one epoch; of the highest rate
SURE = 7.4
WINS = (
    "a max_steps of {steps} wins over the {epochs:g} epochs that were asked for: the run ends "
    "after {steps} steps, {seen:.2g} of one epoch, so that it sees {percent} of its rows, each of "
    "them once at most. The schedule of the rate ends there as well, and the log looks like that "
    "of a whole run"
)
LEAVE_OUT = (
    "leave max_steps out (or -1), so that num_train_epochs counts, and read in the first lines "
    "that 'Total steps' is rows x epochs / batch; examples and notebooks have such a max_steps to "
    "be over soon. Rank, rate and data have not been tried yet"
)


def ends_within_the_first_epoch(beside: Beside, log: Log) -> Iterator[Finding]:
    """Both are set, and the run is over, or planned, before half of the first epoch."""
    steps, epochs = _last(beside, _STEPS), _last(beside, _EPOCHS)
    if not steps or not epochs or beside.matching(OF_A_DUMP) or beside.matching(_TRIED):
        return
    number, asked = int(plain_number(steps[1].replace("_", ""))), float(epochs[1])
    part = _seen(beside, log, number)
    if part is None or not 0 < part[1] < MOST or asked < 1:
        return
    proof = dict.fromkeys((steps[0].says, epochs[0].says, part[0]))
    rows = f"{100 * part[1]:.2g} %"
    why = WINS.format(steps=number, epochs=asked, seen=part[1], percent=rows)
    yield Finding("few_steps", SURE, steps[0], tuple(proof), why=why, advice=LEAVE_OUT)


def _last(beside: Beside, pattern: re.Pattern) -> tuple[Line, str] | None:
    """The last setting of its kind that is none of a sentence."""
    written = ((line, line.text.partition("#")[0]) for line in beside.words)
    found = [(line, m["n"]) for line, text in written for m in pattern.finditer(text)]
    printed = [one for one in found if not is_prose(one[0].text) or "=" in one[0].text]
    return printed[-1] if printed else None


def _seen(beside: Beside, log: Log, steps: int) -> tuple[str, float] | None:
    """How much of an epoch such a run sees: as it says at its end, or by rows and batch."""
    if log.summary is not None and "epoch" in log.summary.numbers:
        return _says(log.summary), log.summary.numbers["epoch"]
    last = next((one for one in reversed(log.entries) if "epoch" in one.numbers), None)
    if last is not None and _is_over(last, beside, log, steps):
        return _says(last), last.numbers["epoch"]
    return _planned(beside, steps)


def _is_over(last: Entry, beside: Beside, log: Log, steps: int) -> bool:
    """Whether the last entry is that of the last step: by its number, a full bar, or a rate that
    the schedule has brought down to nothing."""
    rates, full = log.values("learning_rate"), re.compile(rf"(?<!\d){steps}/{steps}(?!\d)")
    is_down = bool(rates) and 0 <= rates[-1] < NOTHING * max(rates)
    return last.numbers.get("step") == steps or bool(beside.matching(full)) or is_down


def _says(entry: Entry) -> str:
    return f"{entry.where}: the run ends at {entry.names['epoch']} {entry.numbers['epoch']:g}"


def _planned(beside: Beside, steps: int) -> tuple[str, float] | None:
    """By the plan that the trainer prints: so many steps of such a batch, of so many rows."""
    rows, batch, total = (beside.first(one) for one in (_ROWS, _BATCH, TOTAL_STEPS))
    if rows is None or batch is None or total is None or plain_number(total[1][1]) != steps:
        return None
    number = plain_number(rows[1][1] or rows[1][2])
    told = f"{total[0].where} says: {total[1][0]}; {batch[1][1]} rows a step, {number:g} rows"
    return told, steps * plain_number(batch[1][1]) / max(number, 1)
