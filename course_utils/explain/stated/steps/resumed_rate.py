"""A learning rate that is asked for anew at a resume, where that of the checkpoint goes on."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose

_RESUMES = re.compile(
    r"resume(?:_from_checkpoint|_from|_path)?['\"]?\s*[=: ]\s*['\"]?(?!none|false|null)[\w./-]*\w|"
    r"\bContinuing training from (?:checkpoint|global step).*|"
    r"\bResum(?:ing|ed) (?:training )?from\b.*",
    re.IGNORECASE,
)
_PRINTED = re.compile(  # a resume as a program or a command says it, with the state it brings
    r"--resume\S*[= ]+(?!none|false|null)\S+|\bresume_from_checkpoint\s*=\s*(?!none|false)\S+|"
    r"\bContinuing training from (?:checkpoint|global step).*|"
    r"\b(?:Resum(?:ing|ed)|Restor(?:ing|ed)|Load(?:ing|ed))\b.*\b(?:optimi[sz]er|scheduler|step|"
    r"checkpoint|trainer)\b.*|\b(?:optimi[sz]er|scheduler)s?\b.* states? (?:were )?loaded\b.*|"
    r"\bload_state\(.*",
    re.IGNORECASE,
)
_FLAG = re.compile(r"--(?:learning[-_]rate|lr)\b", re.IGNORECASE)
_OTHER_RATES = re.compile(  # groups with rates of their own, or a rate that is multiplied
    r"scale_lr|lora_?plus|lr_ratio|layer\w*[-_ ]decay|llrd|embedding_l(?:r|earning)|"
    r"(?:vision|projector|head|critic|value)_l(?:r|earning_rate)\b|find_lr|lr_find|\bcyclic",
    re.IGNORECASE,
)
_BASE = re.compile(r"\bbase_lrs?['\"]?\s*[:=]\s*\[?\s*(?P<rate>\d[\d.]*(?:e-?\d+)?)")
FEW = 2  # entries
SURE, ANOTHER, ABOVE, SAME = 8.6, 1.2, 1.05, 1e-6  # by which factor rates are two; of a rate
NO_SCHEDULE = "no schedule goes above the rate that it is given, so that this is an earlier one"
GOES_ON = (
    "the learning rate that was asked for anew is not used: a resume brings back optimizer and "
    "schedule with the rate of the first start, so the run goes on at up to {logged:.3g} though "
    "{asked} is asked for now. What {asked} does has not been tried"
)
BEGIN = (
    "start a new run from the checkpoint's weights (as model_name_or_path, without a resume), or "
    "set the rate in optimizer.pt's param_groups and in scheduler.pt's base_lrs; see in the first "
    "entry that the rate is the new one"
)


def rate_of_before(beside: Beside, log: Log) -> Iterator[Finding]:
    """The rates behind a resume are those of the run before, or above what is asked for now."""
    resumed = _last_printed(beside) or beside.matching(_RESUMES)
    asked = _asked(beside, log)
    if resumed is None or asked is None:
        return
    before, now = asked
    rates = [(e, v) for e, v in log.series("learning_rate") if _is_behind(e, v, now)]
    if not rates:
        return
    highest = max(rate for _, rate in rates)
    again, saved = _again(log), _of_the_schedule(beside, now)
    is_above = highest > ABOVE * (now.number or 0)
    above = [] if again or saved else _above(beside, rates, now)
    if not again and not (saved and is_above) and not above:
        return
    first = rates[0][0]
    proof = [now.said, f"{first.where}: {said(first, 'learning_rate')}", *again, *saved, *above]
    proof += [before.said] if before else []
    proof.append(f"{resumed[0].where} says: {resumed[1].strip()[:80]}")
    why = GOES_ON.format(logged=highest, asked=now.value)
    yield Finding("rate_not_asked", SURE, first, tuple(proof), why=why, advice=BEGIN)


def _last_printed(beside: Beside) -> tuple[Line, str] | None:
    """The last line of a program or a command that says that a run is resumed."""
    return next(reversed(beside.all_matching(_PRINTED)), None)


def _is_behind(entry: Entry, rate: float, now: Setting) -> bool:
    return 0 < rate < math.inf and place(entry) > place(now.line)


def _above(beside: Beside, rates: list[tuple[Entry, float]], now: Setting) -> list[str]:
    """That the rates behind a printed resume are clearly above the one that is asked for."""
    far = [rate for _, rate in rates if rate > ANOTHER * (now.number or math.inf)]
    if len(far) < FEW or _last_printed(beside) is None or beside.matching(_OTHER_RATES):
        return []
    return [f"{len(far)} entries have a rate of {min(far):.3g} or more; {NO_SCHEDULE}"]


def _asked(beside: Beside, log: Log) -> tuple[Setting | None, Setting] | None:
    """The rate that was set for the last run, and another that was set before it, if any."""
    entries = {entry.where for run in (log, *log.earlier) for entry in run.entries}
    known = [
        one
        for one in beside.of("learning_rate")
        if one.number and one.line.where not in entries and _is_set(one.line.text)
    ]
    until = _begin_of_the_last(log, known)
    known = [one for one in known if not log.entries or place(one.line) < until]
    if not known:
        return None
    now = known[-1]
    others = [one for one in known if not _is_one_rate(one.number, now.number)]
    if log.earlier and (not others or place(now.line) < place(log.earlier[-1].entries[0])):
        return None  # no other rate was asked for behind the first run
    return (others[-1] if others else None), now


def _is_set(text: str) -> bool:
    """Whether a line sets a rate: a sentence may tell of another run, but for a flag in it."""
    return not is_prose(text) or bool(_FLAG.search(text))


def _begin_of_the_last(log: Log, known: list[Setting]) -> int:
    """Where the entries begin that a rate is set for: behind the last line between entries that
    sets one and resumes, or at the first entry."""
    resumes = [place(one.line) for one in known if _PRINTED.search(one.line.text)]
    places = [place(entry) for entry in log.entries]
    between = [at for at in resumes if places and places[0] < at < places[-1]]
    behind = (at for at in places if not between or at > between[-1])
    return next(behind, 0)


def _again(log: Log) -> list[str]:
    """Entries of the last run that have the epoch or step and the rate of an earlier one."""
    old = {key: entry for run in log.earlier for entry in run.entries if (key := _key(entry))}
    same = [(old[key], one) for one in log.entries if (key := _key(one)) in old and key]
    alike = [
        (then, one)
        for then, one in same
        if math.isclose(_rate(then), _rate(one), rel_tol=SAME) and _rate(one) > 0
    ]
    if not alike:
        return []
    then, one = alike[0]
    return [
        f"{said(one, 'learning_rate')} at {one.where}, to the last digit that of {then.where} in "
        "the run before"
    ]


def _of_the_schedule(beside: Beside, now: Setting) -> list[str]:
    """What the saved schedule has as its rate, where it is another one."""
    found = beside.matching(_BASE)
    if found is None:
        return []
    rate = float(_BASE.search(found[1])["rate"])
    if _is_one_rate(rate, now.number):
        return []
    return [f"{found[0].where}: the saved schedule has base_lrs {rate:g}"]


def _key(entry: Entry) -> tuple[str, float] | None:
    if "learning_rate" not in entry.numbers:
        return None
    return next(((n, entry.numbers[n]) for n in ("step", "epoch") if n in entry.numbers), None)


def _rate(entry: Entry) -> float:
    return entry.numbers["learning_rate"]


def _is_one_rate(one: float | None, other: float | None) -> bool:
    return bool(one and other) and max(one, other) < ANOTHER * min(one, other)
