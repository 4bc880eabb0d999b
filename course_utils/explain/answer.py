"""Reads a log and says what it points to: the line that turned, then causes with their evidence."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from textwrap import fill
from typing import SupportsInt

from course_utils.explain.finding import Finding
from course_utils.explain.log import Log, state_of
from course_utils.explain.numbers import said
from course_utils.explain.reading import Entry, Line, read, read_document
from course_utils.explain.rules import RULES
from course_utils.explain.words import finding_of_code, findings_in

MAX_SHOWN, MAX_DOCUMENT_LINES, WIDTH = 3, 2_000_000, 88


@dataclass(frozen=True)
class Answer:
    """`findings` are ordered, the likeliest first; healthy ones explain what only looks wrong."""

    findings: tuple[Finding, ...]
    num_entries: int
    num_lines: int
    fields: tuple[str, ...]  # the log's own names
    known: frozenset[str] = frozenset()  # the names here of the fields it has
    odd: tuple[str, ...] = ()  # fields that are 0, nan or inf somewhere

    @property
    def causes(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if not one.cause.healthy)

    @property
    def is_healthy(self) -> bool:
        return bool(self.findings) and not self.causes

    def __str__(self) -> str:
        if not self.num_entries and not self.findings:
            return (
                f"No log entry and no known message in {self.num_lines} lines. Paste lines with "
                "numbers such as loss and grad_norm, a trainer_state.json, or the last lines of "
                "an error."
            )
        blocks = [self._head()]
        blocks += [_block(n, one) for n, one in enumerate(self.causes[:MAX_SHOWN], start=1)]
        healthy = [one for one in self.findings if one.cause.healthy]
        blocks += [_healthy(one) for one in healthy[:MAX_SHOWN]]
        if not self.findings:
            blocks.append(self._cannot_tell())
        return "\n\n".join(blocks)

    def _head(self) -> str:
        read_ = f"Read {self.num_entries} log entries in {self.num_lines} lines"
        names = f": {', '.join(self.fields)}." if self.fields else "."
        turned = self.causes[0].at if self.causes else None
        if turned is None:
            return fill(read_ + names, WIDTH)
        line = f"The line that turned is {turned.where}:\n  {turned.text}"
        return f"{fill(read_ + names, WIDTH)}\n{line}"

    def _cannot_tell(self) -> str:
        wanted = ("loss", "grad_norm", "learning_rate")
        missing = [n for n in wanted if n not in self.known]
        parts = ["The log cannot tell: what is known to this command is not in it."]
        if missing:
            parts.append(f"It has no {', no '.join(missing)}.")
        if self.odd:
            parts.append(f"Worth a look: {'; '.join(self.odd)}.")
        parts.append(
            "Look next at what no log shows: one batch token by token, and the share of weights "
            "that change in a step."
        )
        return fill(" ".join(parts), WIDTH)

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


def _block(number: int, one: Finding) -> str:
    cause = one.cause
    rows = [("for", text) for text in one.for_it] + [("against", text) for text in one.against]
    rows += [("fix", cause.fix), ("look next", cause.look)]
    where = [f"lesson {cause.lesson}"] if cause.lesson else []
    where += [f"instrument {cause.instrument}"] if cause.instrument else []
    where += [f"reported in {cause.thread}"] if cause.thread else []
    rows += [("see", "; ".join(where))] if where else []
    head = fill(
        f"{number}. {cause.says[0].upper()}{cause.says[1:]}.", WIDTH, subsequent_indent="   "
    )
    return "\n".join([head, *(_row(*row) for row in rows)])


def _healthy(one: Finding) -> str:
    head = fill(f"This is healthy, because {one.cause.says}.", WIDTH)
    return "\n".join([head, *(_row("for", text) for text in one.for_it)])


def _row(name: str, text: str) -> str:
    return fill(text, WIDTH, initial_indent=f"   {name:<10} ", subsequent_indent=" " * 14)


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
    log, spoken = Log(), {}
    for part in parts:
        if isinstance(part, Entry):
            log.add(part)
        for one in findings_in(part):
            spoken.setdefault(one.key, one)
    found = [one for rule in RULES if (one := rule(log)) is not None] if log.entries else []
    found += spoken.values()
    best: dict[str, Finding] = {}
    for one in sorted(found, key=lambda one: -one.weight):
        best.setdefault(one.key, one)
    if any(not one.cause.healthy for one in best.values()):
        best.pop("improves", None)
    names = sorted({name for entry in log.entries for name in entry.names.values()})
    return Answer(
        findings=tuple(best.values()),
        num_entries=log.num_entries,
        num_lines=int(num_lines),
        fields=tuple(names[:12]),
        known=frozenset(log.fields),
        odd=tuple(_odd(log)),
    )


def _odd(log: Log) -> Iterator[str]:
    """What turned in a field that training rests on, without a rule that knows why."""
    for name in ("loss", "policy_loss", "grad_norm", "reward", "kl"):
        for state in ("nan", "inf", "0"):
            entry = log.first(name, lambda value, state=state: state_of(value) == state)
            if entry is not None:
                yield f"{said(entry, name)} at {entry.where}"
