"""The text that `course grade` prints for each result, and for all together."""

import click

from course_utils.commands.progress_line import CellProgress
from course_utils.grading.result import CannotBeGraded, Grade, GraderFailed, Record
from course_utils.shown.report import Table


class ResultPrinter:
    """Prints each result: in full for single notebooks, in one line for a class."""

    def __init__(self, total: int, *, is_class: bool) -> None:
        self.total, self.is_class, self.count = total, is_class, 0
        self.line = CellProgress()

    def __call__(self, record: Record, was_there: bool) -> None:
        self.count += 1
        self.line.clear()
        result = record.result
        if not self.is_class:
            text = full(record) if isinstance(result, Grade) else result.reason
            click.echo(text, err=not isinstance(result, Grade))
            return
        kept = ", kept from before" if was_there else ""
        click.echo(f"{self.count} of {self.total}: {record.path}: {_brief(record)}{kept}", err=True)

    def clear(self) -> None:
        self.line.clear()


def _brief(record: Record) -> str:
    result = record.result
    if isinstance(result, Grade):
        return f"{result.scores.points} of {result.scores.of} points"
    return f"{result.kind}: {result.reason.partition(chr(10))[0]}"


def full(record: Record) -> str:
    """One graded notebook, exercise by exercise."""
    scores, rows = record.result.scores, []
    for score in scores.scores:
        points = f"{score.points} of {score.of}"
        rows.append((score.exercise, score.title, score.outcome, points))
        rows += [("", detail, "", "") for detail in score.details]
    columns = ("exercise", "title", "outcome", "points")
    table = Table(columns=columns, rows=rows, notes=scores.notes).text()
    return f"{record.path}: {_brief(record)}\n{table}"


def total(records: list[Record]) -> str:
    graded = [record.result.scores for record in records if isinstance(record.result, Grade)]
    points, of = sum(g.points for g in graded), sum(g.of for g in graded)
    counts = [
        f"{sum(isinstance(record.result, kind) for record in records)} {words}"
        for kind, words in ((CannotBeGraded, "cannot be graded"), (GraderFailed, "failed here"))
    ]
    said = [count for count in counts if not count.startswith("0 ")]
    return f"Total: {'; '.join([f'{points} of {of} points', *said])}"
