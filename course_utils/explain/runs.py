"""Several runs in one log: which of them is explained, and which setting is other in it."""

from collections.abc import Iterator
from dataclasses import replace

from course_utils.causes.shared import NOT_FINITE
from course_utils.explain.asking import answers
from course_utils.explain.deciding import decided
from course_utils.explain.deciding.engines import by_temperature
from course_utils.explain.finding import AFTER_IT, Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import TRAINED, Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.rules import RULES, RULES_OF_SETTINGS, WITHOUT_ENTRIES
from course_utils.explain.worries import worries

MAX_NAMED = 3


def shown_by(log: Log, beside: Beside) -> list[Finding]:
    """What the numbers of a run show, alone and beside its settings."""
    if not log.entries:
        return answers(WITHOUT_ENTRIES, log, beside)
    found = [*answers(RULES, log), *answers(RULES_OF_SETTINGS, log, beside)]
    return [_from_its_beginning(log, one) for one in found]


def _from_its_beginning(log: Log, one: Finding) -> Finding:
    """What is not finite is quoted from its first entry on, also where a later one shows more."""
    if one.key not in NOT_FINITE or not isinstance(one.at, Entry):
        return one
    first = log.where_it_began(one.at)
    if first is one.at:
        return one
    names = [name for name in TRAINED if name in first.numbers]
    proof = f"it begins at {first.where}: {said(first, *names)}"
    return replace(one, at=first, for_it=(proof, *one.for_it))


def settings_of(run: Log, log: Log, beside: Beside) -> Beside:
    """What stands beside one of the runs: its own settings, and those before it that still hold."""
    runs = [*log.earlier, log]
    number = next(n for n, one in enumerate(runs) if one is run)
    after = runs[number - 1].entries[-1].where if number else ""
    until = run.entries[-1].where if number + 1 < len(runs) else ""
    return beside.between(after, until)


def of_an_earlier_run(log: Log, beside: Beside) -> list[Finding]:
    """What is wrong with the last of the earlier runs that shows a fault."""
    for run in reversed(log.earlier):
        own = settings_of(run, log, beside)
        found = [one for one in shown_by(run, own) if not (one.cause.healthy or one.is_look)]
        if found:
            heard = beside if beside.changed() else own
            after = () if _is_resumed(log) else (AFTER_IT,)
            found = [
                replace(one, for_it=(*one.for_it, *after)) if _shows_as_much(log, one) else one
                for one in found
            ]
            found = [decided(one, heard, run) for one in found]
            return [with_difference(one, run, log, log, beside) for one in found]
    return []


def _shows_as_much(log: Log, one: Finding) -> bool:
    """Whether the last run has the numbers at all in which an earlier one shows a fault."""
    return not isinstance(one.at, Entry) or one.at.numbers.keys() <= log.fields


def _is_resumed(log: Log) -> bool:
    """Whether the last run is said to go on from a checkpoint, so that it is no comparison."""
    last = log.earlier[-1].entries[-1]
    return any(entry is last for entry, _ in log.resumes)


def beside_a_sound_run(found: list[Finding], log: Log, beside: Beside) -> list[Finding]:
    """Findings of the last run, with the setting that is other in an earlier, sound one."""
    for run in reversed(log.earlier):
        shown = shown_by(run, settings_of(run, log, beside))
        if all(one.cause.healthy or one.is_look for one in shown):
            return [with_difference(one, log, run, log, beside) for one in found]
    return found


def with_difference(one: Finding, bad: Log, good: Log, log: Log, beside: Beside) -> Finding:
    """The finding with the settings that are printed for both runs and differ."""
    if one.cause.healthy:
        return one
    mine, others = (settings_of(run, log, beside) for run in (bad, good))
    pairs = [
        (before, now)
        for before, now in _different(mine, others)
        if not any(now.said in row for row in one.for_it)  # what decides has told it
        and not any(_is_of_no_run(each, log) for each in (before, now))
    ]
    rows = tuple(
        f"{before.written} {before.value} in it, {now.value} in the run of {span(good)} "
        f"({before.line.where}, {now.line.where})"
        for before, now in pairs[:MAX_NAMED]
    )
    if len(pairs) == 1 and one.cause.beside == pairs[0][0].name == "temperature":
        return by_temperature(replace(one, for_it=(*one.for_it, *rows)), *reversed(pairs[0]))
    if len(pairs) != 1 or one.why:  # several may be it, or the reason is known
        return replace(one, for_it=(*one.for_it, *rows))
    (before, now), *_ = pairs
    why = f"with {before.written} {before.value}, and not with {now.value}: {one.says}"
    advice = f"{now.written} {now.value}, as in the other run, until the reason is found; {one.fix}"
    return replace(one, for_it=(*one.for_it, *rows), why=why, advice=advice)


def _is_of_no_run(one: Setting, log: Log) -> bool:
    """Whether a setting is a number of an entry, or told of a trial in a sentence behind all."""
    if is_prose(one.line.text) and place(one.line) > place(log.entries[-1]):
        return True
    runs = (*log.earlier, log)
    return any(entry.where == one.line.where for run in runs for entry in run.entries)


def _different(one: Beside, other: Beside) -> Iterator[tuple[Setting, Setting]]:
    """The settings of the same name that have another value in both."""
    for name in dict.fromkeys(setting.name for setting in one.settings):
        mine, others = one.of(name)[-1], other.of(name)
        if others and others[-1].meant != mine.meant:
            yield mine, others[-1]


def span(run: Log) -> str:
    """Where the entries of a run stand."""
    first, last = run.entries[0].where, run.entries[-1].where
    noun, _, number = first.rpartition(" ")
    return f"{noun}s {number} to {last.rpartition(' ')[2]}"


def of_finding(log: Log, at: object) -> Log:
    """The run in which an entry stands; the last one for a line, if none is pasted beside it."""
    if isinstance(at, Line):
        is_before = log.is_beside and place(at) < place(log.entries[0])
        return log.earlier[-1] if is_before else log
    return next((run for run in log.earlier if any(entry is at for entry in run.entries)), log)


def worries_of_earlier(log: Log) -> Iterator[str]:
    """Why not to call the log healthy: what goes astray in a run before the last one."""
    for run in log.earlier:
        for one in (*run.not_finite(), *worries(run)):
            yield f"{one} (in the run of {span(run)})"
