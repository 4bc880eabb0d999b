"""Every failure in the library versions of its time, and the same script in today's.

    ERAS, find_era    all of them, as data
    measure           runs one script in a throw-away environment: the facts it printed
    ThenAndNow        judges them, symptom by symptom
    row               a lesson's row of docs/then_and_now.md; its table is `table`

`course era LESSON` is the command. Importing this runs and builds nothing.
"""

from course_utils.errors import BadRequest
from course_utils.reproductions.eras.declare import Era
from course_utils.reproductions.eras.declared import ERAS
from course_utils.reproductions.eras.run import WHEN, ThenAndNow, measure
from course_utils.shown.report import Table

__all__ = ["ERAS", "ThenAndNow", "WHEN", "find_era", "measure", "row", "table"]

COLUMNS = (
    "failure",
    "versions then",
    "symptom then",
    "symptom now",
    "what protects you today",
    "still dangerous if",
)


def find_era(lesson: str) -> Era:
    """The era of a lesson, by number or file stem.

    Raises:
        BadRequest: the lesson has none.

    >>> find_era("03").stem
    '03_reward_nan'
    """
    for era in ERAS:
        if lesson in (era.number, era.stem):
            return era
    raise BadRequest(
        f"lesson {lesson} has no era",
        why="it reproduces no report, so there are no versions of its day",
        fix=f"choose one of: {', '.join(era.number for era in ERAS)}",
    )


def _cells(era: Era) -> tuple[str, ...]:
    words = era.row
    return (
        words.failure,
        era.versions,
        words.then,
        words.now,
        words.protects,
        words.dangerous,
    )


def row(lesson: str) -> Table:
    """One lesson's row of docs/then_and_now.md, turned so that it reads in a narrow place.

    >>> row("06").rows[1]
    ('versions then', 'trl 0.15.2, transformers 4.49.0, peft 0.14.0, accelerate 1.4.0')
    """
    era = find_era(lesson)
    return Table(
        columns=("then and now", f"course era {era.number}"),
        rows=list(zip(COLUMNS, _cells(era), strict=True)),
    )


def table() -> str:
    """The table of docs/then_and_now.md, in Markdown.

    >>> table().splitlines()[1]
    '| --- | --- | --- | --- | --- | --- |'
    """
    rows = [COLUMNS, ("---",) * len(COLUMNS), *map(_cells, ERAS)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
