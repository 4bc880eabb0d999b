"""Looks at a run's own log: the rules of `course explain`, on entries instead of lines."""

import json
from collections.abc import Callable, Iterable

from course_utils.diagnostics.diagnosis.sheet.finding import Found, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import STOPPED
from course_utils.explain import Answer, explain_entries
from course_utils.explain.finding import Finding
from course_utils.explain.paste.reading import Entry, Line, entries_of_row

# What a rule of the log has seen, where the cause's own words hold more than one thing.
PLAINLY = {"replies_cut": "replies run into the length limit"}
# Of a log's weight, and at most: what is measured in the run itself counts for more.
SHARE, MOST = 0.75, 7.5


def answer_of(history: Iterable[dict]) -> Answer:
    """The answer of `course explain` to a log that is a list of dicts, such as `log_history`."""
    rows = list(history)
    seen: set[str] = set()
    entries = []
    for number, row in enumerate(rows, start=1):
        where = f"step {row['step']}" if "step" in row else f"entry {number}"
        entries += _read(f"{where}, entry {number}" if where in seen else where, row)
        seen.add(where)
    return explain_entries(entries, len(rows))


def _read(where: str, row: dict) -> Iterable[Entry | Line]:
    if isinstance(row.get("error"), str):  # what ended the run
        return [Line(where, " ".join(row["error"].split()))]
    return entries_of_row(where, json.dumps(row, default=str), row.items())


def look_at_log(
    history: list[dict], sheet: Sheet, *, may_name: Callable[[str], bool] = lambda key: True
) -> None:
    """Write down the causes that the log points to, and signs in it that only look like a fault.

    Args:
        may_name: whether this run has the grounds for a cause that the log shows.
    """
    if not history:
        sheet.miss("the log", "it is empty")
        return
    errors = [row["error"] for row in history if isinstance(row.get("error"), str)]
    if errors:
        sheet.became(STOPPED, "an error in the log ended it")
    with sheet.trying("the log"):
        answer = answer_of(history)
        causes = [one for one in answer.causes if may_name(one.key)]
        sheet.found += map(_found, causes)
        sheet.healthy += [
            Found(one.key, one.weight, one.for_it) for one in answer.no_faults if one.for_it
        ]
        fits = (one for one in answer.fits if may_name(one.key))
        sheet.to_look_at += [f"{one.look}: {'; '.join(one.for_it)}" for one in fits][:1]
        if not causes and not answer.num_entries:
            sheet.miss("the log", "it holds no numbers that are known here")
        elif not causes:
            said = (
                f"{answer.num_entries} entries, of which no rule of `course explain` makes a fault"
            )
            sheet.clear("the log", said)


def _found(one: Finding) -> Found:
    """A cause of the log as one of the run."""
    return Found(
        one.key,
        min(SHARE * one.weight, MOST),
        one.for_it or (one.at.text,),
        one.at.where,
        one.against,
        why=one.why or PLAINLY.get(one.key, ""),
        advice=one.advice,
        is_of_log=True,
    )
