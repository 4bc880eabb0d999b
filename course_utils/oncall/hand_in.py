"""An exam answer as a notebook holds it: edits; file, place and class of each fault.

Reads it out of a folder as text to paste, and judges it. Knows no right answer.
"""

from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

import yaml

from course_utils.oncall import check as checks
from course_utils.oncall import exam, judging, report, shared_trainer, templates
from course_utils.oncall import folder as folders
from course_utils.oncall.answer_form import KEYS
from course_utils.oncall.declare import DoesNotFit, Files, Verdict

MOST_CONTEXT = 6  # lines around a change, so that its old text is there once
MOST_WIDTH = 88  # of a tuple on one line


@dataclass(frozen=True)
class Tried:
    """An answer to one ticket of the exam; each property is computed when it is asked for."""

    name: str
    edits: tuple[tuple[str, str, str], ...]
    faults: tuple[tuple[str, str, str], ...]

    @cached_property
    def task(self) -> exam.Task:
        return exam.TASKS[self.name]

    @cached_property
    def ticket(self) -> folders.Ticket:
        return self.task.ticket

    @cached_property
    def handed(self) -> Files:
        return folders.handed_out(self.ticket)[1]

    @cached_property
    def mended(self) -> Files | None:
        """The files with the edits; None where they do not fit."""
        try:
            return exam.edited(self.handed, self.edits)
        except DoesNotFit:
            return None

    @cached_property
    def misfit(self) -> str:
        """What is wrong with the edits themselves, if anything."""
        try:
            mended = exam.edited(self.handed, self.edits)
        except DoesNotFit as error:
            return f"an edit does not fit: {error}"
        return checks.UNCHANGED if mended == self.handed else ""

    @cached_property
    def refusals(self) -> list[str]:
        """Forbidden differences in the fixed files."""
        healthy = folders.handed_out(self.ticket)[0]
        template = templates.load(self.task.declared.template)
        return judging.refused(template, healthy, self.handed, self.mended)

    @cached_property
    def reported(self) -> report.Judged:
        keys = ("file", "where", "class")
        entries = [dict(zip(keys, fault, strict=True)) for fault in self.faults]
        text = yaml.safe_dump({"faults": entries})
        return checks.reported_on(
            self.ticket, self.mended or self.handed, text, lambda: self.is_healthy
        )

    @property
    def is_healthy(self) -> bool:
        """Whether the fixed run is of the size asked for, and healthy; it is trained here."""
        return not self.misfit and not self.refusals and self.verdicts[-1].is_healthy

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the fixed run, seed by seed; it is trained here."""
        return checks.verdicts_on(self.ticket, self.mended, shared_trainer.judge)

    @property
    def outcome(self) -> checks.Outcome:
        """The outcome that `course oncall check` would give."""
        problems = [self.misfit] if self.misfit else self.refusals
        verdicts = () if problems else self.verdicts
        problems = problems or verdicts[-1].problems
        measured = tuple(one.measured for one in verdicts)
        reported = checks.once_fixed(self.reported, not problems)
        return checks.Outcome(self.task.declared, tuple(problems), measured, reported)


def tried(name: str, answer: dict) -> Tried:
    """An answer of the right form to the ticket of that name."""
    edits, faults = (tuple(map(tuple, answer[key])) for key in KEYS)
    return Tried(name, edits, faults)


def edits_of(folder: Path) -> list[tuple[str, str, str]]:
    """The changes in a ticket's folder since it was written."""
    handed, now = exam.handed_out(folder), exam.files_of(folder)
    return [
        (file, old, new)
        for file, text in handed.items()
        for old, new in _pieces(text, now.get(file, text))
    ]


def _pieces(old: str, new: str) -> list[tuple[str, str]]:
    """Pairs of texts that turn old into `new` when they are replaced one after the other.

    >>> _pieces("a\\nb\\n", "a\\nc\\n")
    [('b\\n', 'c\\n')]
    """
    if old == new:
        return []
    was, now = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for context in range(MOST_CONTEXT):
        groups = SequenceMatcher(None, was, now, autojunk=False).get_grouped_opcodes(context)
        pairs = [
            ("".join(was[g[0][1] : g[-1][2]]), "".join(now[g[0][3] : g[-1][4]])) for g in groups
        ]
        try:
            if exam.edited({"": old}, [("", *pair) for pair in pairs]) == {"": new}:
                return pairs
        except DoesNotFit:
            continue
    return [(old, new)]


def answer_text(name: str, folder: Path) -> str:
    """The answer in a folder and its report.yaml, as Python to paste.

    Args:
        name: what it is called, such as "answer_1".
    """
    parts = {"edits": edits_of(folder), "faults": reported_in(folder)}
    lines = [f'    "{key}": [{_items(listed)}],' for key, listed in parts.items()]
    return "\n".join([f"{name} = {{", *lines, "}"])


def reported_in(folder: Path) -> list[tuple[str, str, str]]:
    """File, place and class of each entry of report.yaml; empty if it cannot be read."""
    text = folders.text_files(folder, [report.NAME]).get(report.NAME, "")
    try:
        return [(entry.file, entry.where, entry.kind) for entry in report.read(text)]
    except report.BadReport as bad:
        print(f"# {report.NAME}: {bad}")
        return []


def _items(listed: list[tuple[str, str, str]]) -> str:
    """Three texts per tuple, one below the other."""
    return "".join(f"\n        {_tuple(parts)}," for parts in listed) + "\n    " * bool(listed)


def _tuple(parts: tuple[str, str, str]) -> str:
    file, old, new = map(repr, parts)
    one = f"({file}, {old}, {new})"
    return one if len(one) < MOST_WIDTH else f"({file},\n         {old},\n         {new})"
