"""Reads a log and finds its causes, with the line where the run turned."""

import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import SupportsInt

from course_utils.causes import ranked
from course_utils.causes.cause import CERTAIN, LATER, WARNED, WEAK, keys
from course_utils.explain import stated
from course_utils.explain.answer import Answer
from course_utils.explain.asking import answers
from course_utils.explain.deciding import decided
from course_utils.explain.finding import Finding
from course_utils.explain.in_force import with_what_is_in_force
from course_utils.explain.messages.heard import Heard
from course_utils.explain.messages.spoken import spoken
from course_utils.explain.messages.words import finding_of_code
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.document import read_document
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, said, thirds, trend
from course_utils.explain.paste.reading import read
from course_utils.explain.paste.shown_again import is_summary
from course_utils.explain.paste.side_tables import side_tables
from course_utils.explain.rules.gradients import scaler_skips
from course_utils.explain.runs import (
    beside_a_sound_run,
    of_an_earlier_run,
    of_finding,
    settings_of,
    shown_by,
    span,
    worries_of_earlier,
)
from course_utils.explain.stated.served.saved import garbled_once_saved
from course_utils.explain.told import mentions
from course_utils.explain.worries import worries

MAX_DOCUMENT_LINES = 2_000_000
OF_AN_ENDING = keys("python_error exception")  # what any error leads to
ENDINGS = OF_AN_ENDING | keys(
    "ranks_disagree terminated aborted interrupted nccl_failed ray_worker_died"
)
_MERGES = re.compile(r"merg(?:e[ds]?|ing)\b|merge_|unload", re.IGNORECASE)
ABOVE = 0.01  # of a weight
BY_HAND = "interrupted"  # whoever does that has seen something else before
FLAT = 0.05  # of the first third: further than that a loss has moved, if not evenly


def explain(source: str | Iterable[str]) -> Answer:
    """Explain a pasted text, or the lines of a file, read one at a time.

    >>> explain("{'loss': 0.0, 'grad_norm': nan}").findings[0].key
    'nan_shown_as_zero'
    """
    lines = iter(io.StringIO(source) if isinstance(source, str) else source)
    head = list(islice(lines, 2))
    code = finding_of_code(head[0]) if len(head) == 1 else None
    if code:
        return Answer((code,), 0, 1, ())
    if (head and head[0].strip() in ("{", "[")) or len(head) == 1:  # a document, not lines
        head += islice(lines, MAX_DOCUMENT_LINES)
        entries = read_document("".join(head))
        if entries is not None:
            return explain_entries(entries, len(head))
    counter = _Counter(chain(head, lines))
    return explain_entries(read(counter), counter)


class _Counter:
    """Counts the lines that pass."""

    def __init__(self, lines: Iterable[str]):
        self._lines, self.count = lines, 0

    def __iter__(self):
        for line in self._lines:
            self.count += 1
            yield line

    def __int__(self) -> int:
        return self.count


def explain_entries(parts: Iterable[Entry | Line], num_lines: SupportsInt) -> Answer:
    """Explain what a reader made of a log; `num_lines` is asked once all has been read."""
    log, heard, beside = _read(parts)
    found = _found(log, heard, beside)
    hints = [decided(one, beside, log) for one in heard.hints(log)]
    hints = [one for one in hints if one.weight > 0]  # the others are refuted
    found += [one for one in hints if not one.is_look]
    hints = [*hints, *heard.exception(log)] if _is_silent(found) else []
    findings = tuple(with_what_is_in_force(one, beside, log) for one in _ranked(found, hints))
    run = of_finding(log, findings[0].at if findings else None)
    names = sorted({name for entry in run.entries for name in entry.names.values()})
    return Answer(
        findings=findings,
        num_entries=log.num_entries,
        num_lines=int(num_lines),
        fields=tuple(names[:12]),
        known=frozenset(log.fields),
        not_finite=tuple(log.not_finite()),
        zeros=tuple(_zeros(log)),
        worries=(*filter(None, (heard.unseen(),)), *worries(log), *worries_of_earlier(log)),
        trend=_no_trend(log),
        kind=log.kind(),
        restart=log.restart,
        about="" if run is log else span(run),
        mentions=tuple(mentions(beside)),
        unread="" if log.num_entries else "; ".join(one.said for one in side_tables(beside)),
        entries=tuple(run.entries),
    )


def _read(parts: Iterable[Entry | Line]) -> tuple[Log, Heard, Beside]:
    """The entries, what complains between them, and what stands beside them."""
    log, heard, beside = Log(), Heard(), Beside()
    for part in parts:
        if isinstance(part, Entry) and log.is_other_row(part):
            part = Line(part.where, part.text)
        beside.hear(part)
        if isinstance(part, Entry) and is_summary(part, log.summary):
            log.summary = log.summary or part
            heard.hear_end(part)
            continue
        if isinstance(part, Entry) and log.add(part):
            heard.begin_anew()
        log.hear(part)
        heard.hear(part, log.num_entries)
    log.close()
    return log, heard, beside


def _found(log: Log, heard: Heard, beside: Beside) -> list[Finding]:
    """What the numbers show, what is said outright, and what stands beside them."""
    found = shown_by(log, settings_of(log, log, beside) if log.entries else beside)
    by_numbers = not _is_silent(found)
    if not log.entries and (skips := scaler_skips(log)):
        found.append(skips)
    found += [one for one in heard.findings(log) if not _is_answered(one, log, beside)]
    found += [*spoken(beside), *answers(stated.RULES, beside, log)]
    if _is_silent(found):
        found += garbled_once_saved(beside, log)
    found = beside_a_sound_run([decided(one, beside, log) for one in found], log, beside)
    is_sound = _is_silent(found)
    is_compared = beside.changed() or beside.compares(log.num_of_last)
    if not by_numbers and (is_sound or is_compared):
        earlier = of_an_earlier_run(log, beside)
        return [*earlier, *(one for one in found if not (earlier and one.cause.healthy))]
    return found


def _is_silent(found: list[Finding]) -> bool:
    """Whether none of them is a cause."""
    return all(one.cause.healthy or one.is_look for one in found)


def _is_answered(one: Finding, log: Log, beside: Beside) -> bool:
    """Whether a warning of the start is answered by the run that goes on, or by its settings."""
    by = one.cause.answered_by
    if not by or one.weight > WARNED or len(log.entries) < 2:
        return False
    if by == "no merge":
        return not any(_MERGES.search(text) for text in _other_lines(one, beside))
    return by == "the run" or beside.number(by) is not None


def _other_lines(one: Finding, beside: Beside) -> Iterator[str]:
    return (line.text for line in beside.words if line.where != one.at.where)


def _ranked(found: list[Finding], hints: list[Finding]) -> tuple[Finding, ...]:
    """The strongest finding of each key, without those that another explains; then the hints."""
    best: dict[str, Finding] = {}
    for one in sorted(found, key=lambda one: -one.weight):
        best.setdefault(one.key, one)
    order = ranked({key: one.weight for key, one in best.items()}, in_a_log=True)
    refuted = {key for one in best.values() if _is_decided(one) for key in one.cause.rivals}
    if any(one.weight >= CERTAIN and key not in ENDINGS for key, one in best.items()):
        refuted |= OF_AN_ENDING  # the error is there
    kept = {key: best[key] for key in order if key not in refuted}
    for one in sorted(hints, key=lambda one: -one.weight):
        kept.setdefault(one.key, one)
    if any(not one.cause.healthy for one in kept.values()):
        kept.pop("improves", None)
    return tuple(sorted(kept.values(), key=lambda one: -_before_what_it_explains(one, kept)))


def _before_what_it_explains(one: Finding, kept: dict[str, Finding]) -> float:
    """The weight of a cause that is shown itself, above that of what follows from it."""
    if one.key == BY_HAND:
        return WEAK
    if one.weight < WEAK or one.cause.inferred:
        return one.weight
    follow = (one.cause.explains - one.cause.rivals) & kept.keys()
    above = max((kept[key].weight for key in follow), default=0.0)
    return max(one.weight, above + ABOVE)


def _is_decided(one: Finding) -> bool:
    """Whether what stands beside the log has told a cause from its rivals."""
    return bool(one.why) and one.weight >= LATER


def _zeros(log: Log) -> Iterator[str]:
    for name in ("loss", "policy_loss", "grad_norm", "reward"):
        zeros = (e for e, v in log.series(name) if v == 0 and e.numbers.get("reward_std") != 0)
        if entry := next(zeros, None):
            yield f"{said(entry, name)} at {entry.where}"


def _no_trend(log: Log) -> str:
    levels = thirds(log.values("loss"))
    if levels is None or log.kind() == "policy" or trend(log.values("loss")):
        return ""
    if abs(levels[2] - levels[0]) > FLAT * abs(levels[0]):
        return ""
    return f"The loss has no trend: {listed(levels)} by thirds of the log."
