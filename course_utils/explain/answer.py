"""Reads a log and says what it points to: the line that turned, then causes with their evidence."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from typing import SupportsInt

from course_utils.explain.complaints import HINT
from course_utils.explain.document import read_document
from course_utils.explain.entries import Entry, Line
from course_utils.explain.finding import Finding
from course_utils.explain.heard import Heard
from course_utils.explain.log import Log
from course_utils.explain.numbers import listed, said, thirds, trend
from course_utils.explain.page import page
from course_utils.explain.reading import read
from course_utils.explain.rules import RULES
from course_utils.explain.rules.gradients import scaler_skips
from course_utils.explain.words import finding_of_code
from course_utils.explain.worries import worries

MAX_DOCUMENT_LINES = 2_000_000
PARDONED = {  # no fault, and no sign of health
    *("running_mean", "skipped_steps", "memory_survived", "dpo_start", "few_rows"),
    *("optimizer_waits", "falls_by_epochs"),
}
OUTWEIGHED_BY = {  # what is no fault by itself, and causes beside which it must not be said
    "on_policy_zero_loss": {
        *("no_signal", "signal_ended", "no_gradient", "kl_runs", "rewards_cut"),
        *("reward_nan", "std_of_one", "nan_shown_as_zero"),
    },
    "scaler_search": {"fp16_overflow", "norm_never_finite", "nan_gradient"},
    "dpo_start": {"at_chance", "policy_is_reference", "wrong_reference"},
    "few_rows": {"at_chance"},
    "cuda_memory": {"memory_survived"},
    "nan_gradient": {"fp16_overflow", "nan_shown_as_zero"},
    "labels_masked": {"numbers_broken"},
    "nan_metric": {"nan_shown_as_zero", "nan_weights", "nan_already", "nan_gradient"},
    "replies_cut": {"length_into_limit", "rewards_cut"},
    "no_signal": {"rewards_cut", "signal_ended"},
}


@dataclass(frozen=True)
class Answer:
    """`findings` are ordered, the likeliest first; healthy ones explain what only looks wrong."""

    findings: tuple[Finding, ...]
    num_entries: int
    num_lines: int
    fields: tuple[str, ...]  # the log's own names
    known: frozenset[str] = frozenset()  # the names here of the fields it has
    not_finite: tuple[str, ...] = ()  # fields that are nan or inf somewhere
    zeros: tuple[str, ...] = ()  # fields that training rests on and that are 0 somewhere
    worries: tuple[str, ...] = ()  # numbers that go astray, of which no rule knows the cause
    trend: str = ""  # that the loss has none
    kind: str = "supervised"  # or preference, or policy: by its fields
    restart: str = ""  # how the last run was told from the one before it
    entries: tuple[Entry, ...] = field(default=(), repr=False)  # of the last run, thinned out

    @property
    def causes(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if not one.cause.healthy)

    @property
    def no_faults(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.cause.healthy)

    @property
    def rests_on_words(self) -> bool:
        """Whether the causes fit what is said beside the log, and nothing in it."""
        return bool(self.causes) and self.causes[0].weight <= HINT

    @property
    def is_healthy(self) -> bool:
        """Something is known to be well, nothing is known to be wrong, every number is finite."""
        well = {one.key for one in self.findings} - PARDONED
        is_odd = self.causes or self.not_finite or self.worries
        return bool(well and self.num_entries) and not is_odd

    def __str__(self) -> str:
        return page(self)

    def to_dict(self) -> dict:
        return {
            "entries": self.num_entries,
            "lines": self.num_lines,
            "healthy": self.is_healthy,
            "findings": [
                asdict(one.cause)
                | {
                    "where": one.at.where,
                    "line": one.at.text,
                    "for": list(one.for_it),
                    "against": list(one.against),
                }
                for one in self.findings
            ],
        }


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
    log, heard = Log(), Heard()
    for part in parts:
        if isinstance(part, Entry) and part.sums_up:
            log.summary = log.summary or part
            continue
        if isinstance(part, Entry) and log.add(part):
            heard.begin_anew()
        log.hear(part)
        heard.hear(part, log.num_entries)
    log.close()
    found = [one for rule in RULES if (one := rule(log)) is not None] if log.entries else []
    if not log.entries and (skips := scaler_skips(log)):
        found.append(skips)
    found += heard.findings(log)
    if all(one.cause.healthy for one in found):
        found += heard.hints()
    names = sorted({name for entry in log.entries for name in entry.names.values()})
    return Answer(
        findings=_ranked(found),
        num_entries=log.num_entries,
        num_lines=int(num_lines),
        fields=tuple(names[:12]),
        known=frozenset(log.fields),
        not_finite=tuple(log.not_finite()),
        zeros=tuple(_zeros(log)),
        worries=tuple(worries(log)),
        trend=_no_trend(log),
        kind=log.kind(),
        restart=log.restart,
        entries=tuple(log.entries),
    )


def _ranked(found: list[Finding]) -> tuple[Finding, ...]:
    """The strongest finding of each key, without those that another contradicts."""
    best: dict[str, Finding] = {}
    for one in sorted(found, key=lambda one: -one.weight):
        best.setdefault(one.key, one)
    kept = {key: one for key, one in best.items() if not OUTWEIGHED_BY.get(key, set()) & set(best)}
    if any(not one.cause.healthy for one in kept.values()):
        kept.pop("improves", None)
    return tuple(kept.values())


def _zeros(log: Log) -> Iterator[str]:
    for name in ("loss", "policy_loss", "grad_norm", "reward"):
        if entry := log.first(name, lambda value: value == 0):
            yield f"{said(entry, name)} at {entry.where}"


def _no_trend(log: Log) -> str:
    levels = thirds(log.values("loss"))
    if levels is None or log.kind() == "policy" or trend(log.values("loss")):
        return ""
    return f"The loss has no trend: {listed(levels)} by thirds of the log."
