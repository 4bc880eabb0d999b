"""A schedule that is counted in other steps than the run takes: `rule(log, beside)`."""

import math
import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_IS = r"['\"]?(?:\s*[=:]\s*|\s+|\W{3,})"
_WARM_UP = re.compile(
    r"(?<![a-z])\w*warm-?up(?:[_ ](?:steps|iters|iterations|updates))?"
    rf"{_IS}(?P<n>\d[\d,]+)\b(?!\.\d)",
    re.IGNORECASE,
)
_SCHEDULE = re.compile(
    rf"(?<![a-z])(?:sched(?:ule(?:r)?)?_total|num_training_steps|lr_decay_(?:steps|iters)|T_max|"
    rf"sched(?:ule(?:r)?)?[_ ](?:steps|length)){_IS}(?P<n>\d[\d,]+)\b(?!\.\d)",
    re.IGNORECASE,
)
_UPDATES = re.compile(
    r"\b(?:total[_ ])?(?:optimi[sz](?:er|ation)|opt|update|max|train|global)[_ ]?"
    rf"(?:steps|updates|iters){_IS}(?P<n>\d[\d,]+)\b(?!\.\d)",
    re.IGNORECASE,
)
_PEAK = re.compile(
    r"(?<![a-z])(?:peak_lr|max_lr|base_lr|peak_learning_rate|learning_rate|lr)['\"]?(?:\s*[=:]\s*|\s+)"
    r"(?P<n>\d[\d.]*(?:e-?\d+)?)",
    re.IGNORECASE,
)
_DECAYS = re.compile(r"\b(?:cosine|linear|polynomial)\b", re.IGNORECASE)
_BY_BATCH = re.compile(  # the length of a loader, that nothing divides
    r"\blen\((?:self\.)?\w*(?:dl|loader|dataloader|batches)\w*\)"
    r"(?!.*//)(?!.*/ ?\w*(?:acc|world|proc))",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"^\W*(?:done|finished|training (?:done|finished|complete\w*)|saved?\b.*|train_runtime.*)",
    re.IGNORECASE,
)
_OF_ALL = re.compile(r"(?<![\d.])(\d+) ?/ ?(\d{2,})(?![\d.])")  # of a step, with the last one
_FULL_BAR = re.compile(r"\b100%\|.*\| (?P<n>\d{2,})/(?P=n) \[")  # of tqdm, at its end
_EPOCHS = re.compile(r"\bnum_(?:train_)?epochs['\"]?\W{1,3}(\d+(?:\.\d+)?)")
FEWEST, HALF = 4, 0.5  # entries that climb; of the rate that was asked for
FEW, AT_END, STAYS, LONGER = 6, 0.95, 0.9, 2.0  # entries; of the steps; of the peak; times
BELOW_PEAK = (
    "the warm-up is longer than the run: it is {warm} ticks of the schedule long, and the run "
    "takes {steps} optimizer steps, so that the rate still climbs at its end and the peak that was "
    "asked for is never reached. It was counted in other steps (micro batches, or the batches of a "
    "loader that is not yet spread over the processes), or for a longer run"
)
ONE_CLIMB = (
    "the warm-up is longer than the run: it has {warm} steps, and the run takes about {steps:.0f}, "
    "so that the learning rate that was asked for is never reached"
)
FEWER = (
    "fewer warmup_steps, or a share of the run (warmup_ratio); count the optimizer steps first, "
    "which packing and accumulation make few, and see in the log that the rate peaks; train again"
)
NEVER_FALLS = (
    "the schedule is far longer than the run: it is {warm} ticks long, and the run takes {steps} "
    "optimizer steps, so that the rate hardly falls. It was counted in other steps (micro batches, "
    "or the batches of a loader that is not yet spread over the processes), or for a longer run"
)
COUNT = (
    "make total and warm-up from optimizer steps, len(loader) / (processes * accumulation) * "
    "epochs (times the number of processes where accelerate steps a prepared schedule once for "
    "each of them), and see that the rate peaks and ends where it should; more epochs or another "
    "batch do not mend it"
)


def counted_in_other_steps(log: Log, beside: Beside) -> Finding | None:
    """A run that is over, and a warm-up or a schedule that is not."""
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v) and v > 0]
    last = max((e.numbers.get("step", 0.0) for e in log.entries), default=0.0)
    bar = None if last else beside.first(_FULL_BAR)
    last = plain_number(bar[1]["n"]) if bar else last
    over = bar[0].says if bar else _is_over(log, beside, last)
    if len(series) < FEW or not last or not over:
        return None
    rates = [rate for _, rate in series]
    climbs = all(before < now for before, now in pairwise(rates))
    stays = rates[-1] > STAYS * max(rates) and any(_decays(beside))
    told = _number(beside, _WARM_UP if climbs else _SCHEDULE, LONGER * last if stays else last)
    if told is None or not (climbs or stays):
        return None
    line, ticks = told
    (first, _), (entry, _) = series[0], series[-1]
    proof = [
        f"{said(first, 'learning_rate')} at {first.where}, {said(entry, 'learning_rate')} at "
        f"{entry.where}, the last of {len(series)}",
        line.says,
        over,
        *_peak(beside, rates, climbs),
    ]
    if code := beside.matching(_BY_BATCH):
        proof.append(code[0].says)
    key = "schedule_ends_early" if climbs else "schedule_too_slow"
    why = (BELOW_PEAK if climbs else NEVER_FALLS).format(warm=f"{ticks:g}", steps=f"{last:g}")
    return Finding(key, 8.0, entry, tuple(dict.fromkeys(proof)), why=why, advice=COUNT)


def never_warm(log: Log, beside: Beside) -> Finding | None:
    """Without counts of steps: the rate climbs to the end, far below what was asked for, and so
    far up the printed warm-up."""
    rates = [v for _, v in log.series("learning_rate") if math.isfinite(v) and v > 0]
    climbs = len(rates) >= FEWEST and all(before < now for before, now in pairwise(rates))
    asked = beside.printed("learning_rate") if climbs else None
    over, told = _last_epoch(log, beside), _number(beside, _WARM_UP, 1)
    if not asked or not asked.number or not told or not over:
        return None
    line, ticks = told
    share = rates[-1] / asked.number
    if share > HALF:
        return None
    entry = log.series("learning_rate")[-1][0]
    proof = (
        f"{said(entry, 'learning_rate')} at {entry.where}, the end: {share:.0%} of what "
        f"{asked.line.where} asks for ({asked.value})",
        line.says,
        over,
    )
    why = ONE_CLIMB.format(warm=f"{ticks:g}", steps=share * ticks)
    return Finding("schedule_ends_early", 8.0, entry, proof, why=why, advice=FEWER)


def _last_epoch(log: Log, beside: Beside) -> str:
    """What says that the last entry ends the last of the epochs; "" if nothing does."""
    asked, epochs = beside.first(_EPOCHS), [v for _, v in log.series("epoch")]
    if not asked or not epochs or max(epochs) < AT_END * float(asked[1][1]):
        return ""
    return f"{asked[0].where} says: {asked[1][0]}; the log ends with epoch {max(epochs):g}"


def _decays(beside: Beside) -> list[Line]:
    return [line for line in beside.words if _DECAYS.search(line.text)]


def _number(beside: Beside, pattern: re.Pattern, above: float) -> tuple[Line, float] | None:
    """The first number of a kind that is above another one."""
    for line, words in beside.all_matching(pattern):
        number = plain_number(pattern.search(words)["n"])
        if number > above:
            return line, number
    return None


def _is_over(log: Log, beside: Beside, last: float) -> str:
    """What shows that the run has taken all of its steps; "" if nothing does."""
    for line, words in beside.all_matching(_UPDATES):
        number = plain_number(_UPDATES.search(words)["n"])
        if AT_END * number <= last <= number:
            return f"{line.where} says: {words.strip()}; the last step here is {last:g}"
    if (end := _OF_ALL.search(log.entries[-1].text)) and float(end[1]) >= AT_END * float(end[2]):
        return f"{log.entries[-1].where} says: {end[0]}"
    if log.summary is not None:
        return f"the run is over: {log.summary.where} sums it up"
    ends = (line for at, line in beside.lines if at == log.num_entries and _OVER.match(line.text))
    end = next(ends, None)
    return f"the run is over: {end.says}" if end else ""


def _peak(beside: Beside, rates: list[float], climbs: bool) -> list[str]:
    """A rate that was asked for and is above all that were reached."""
    if not climbs:
        return []
    for line, words in beside.all_matching(_PEAK):
        asked = float(_PEAK.search(words)["n"].rstrip("."))
        if max(rates) < STAYS * asked < 1e-1:
            return [f"{line.where} asks for {asked:g}: the run ends at {max(rates) / asked:.0%}"]
    return []


RULES_OF_SETTINGS = (counted_in_other_steps, never_warm)
