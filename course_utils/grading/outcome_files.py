"""Writes the results of a batch: for Moodle, for programs, for CI, and one page per student.

Everything a student wrote is escaped on its way into each of them.
"""

import csv
import hashlib
import io
import json
import re
from collections import defaultdict
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from course_utils.checks.report import Outcome
from course_utils.files.saving import save
from course_utils.grading.printable import in_spreadsheet, printable
from course_utils.grading.result import CannotBeGraded, Grade, GraderFailed, Record, Score
from course_utils.shown import page
from course_utils.shown.page import State

NOT_GRADED = "not graded"
# Moodle's offline grading worksheet finds a row by "Identifier" and needs the first three of these.
MOODLE = ("Identifier", "Grade", "Last modified (grade)", "Feedback comments")
COLUMNS = (*MOODLE[:1], "Full name", *MOODLE[1:], "Maximum grade", "Student", "Lesson", "Result")


def save_all(records: list[Record], out: Path) -> list[Path]:
    """Write grades.csv, .json and .xml into `out`, and feedback/ with one page per student.

    Raises:
        NotSaved: the disk is full, or the folder cannot be written to.
    """
    texts = {"grades.csv": as_csv(records), "grades.json": as_json(records)}
    texts["grades.xml"] = as_junit(records)
    for name, text in texts.items():
        save(out / name, text)
    by_student = defaultdict(list)
    for record in records:
        by_student[record.student].append(record)
    for student, theirs in by_student.items():
        save(out / "feedback" / f"{page_name(student)}.html", feedback(theirs))
    return [out / name for name in (*texts, "feedback")]


def page_name(student: str) -> str:
    """A file name that no other student has, even where case does not count."""
    slug = re.sub(r"[^A-Za-z0-9_-]+", "-", student)[:40].strip("-")
    digest = hashlib.sha256(student.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{slug or 'student'}-{digest}"


def as_csv(records: list[Record]) -> str:
    """One row per submission, in Moodle's columns; without a grade no number."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow([in_spreadsheet(cell) for cell in _row(record)])
    return file.getvalue()


def _row(record: Record) -> tuple[str, ...]:
    result, identifier = record.result, ""
    if record.student.isdecimal() and record.name:
        identifier = f"Participant {record.student}"
    points, of, lesson = "", "", ""
    if isinstance(result, Grade):
        scores = result.scores
        points, of, lesson = str(scores.points), str(scores.of), scores.lesson
    name, comment = record.name or record.student, _comment(record)
    return identifier, name, points, "", comment, of, record.student, lesson, result.kind


def _comment(record: Record) -> str:
    if not isinstance(record.result, Grade):
        return record.result.reason.replace("\n", "; ")
    scores = record.result.scores.scores
    return "; ".join(f"{s.exercise} {s.outcome}, {s.points} of {s.of}" for s in scores)


def as_json(records: list[Record]) -> str:
    """All results as one JSON object: the sum, the grades, and those without a grade."""
    groups = {Grade.kind: [], CannotBeGraded.kind: [], GraderFailed.kind: []}
    for record in records:
        data = record.to_dict()
        groups[record.result.kind].append(data | data.pop("result"))
    graded = groups[Grade.kind]
    data = {"points": sum(g["points"] for g in graded), "of": sum(g["of"] for g in graded)}
    names = ("notebooks", "refused", "failed")
    return f"{json.dumps(data | dict(zip(names, groups.values(), strict=True)), indent=1)}\n"


def as_junit(records: list[Record]) -> str:
    """JUnit XML: one suite per submission, one case per exercise; without a grade one error."""
    root = ElementTree.Element("testsuites")
    for record in records:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(record.path))
        cases = _cases(record)
        for classname, name, kind, message, text in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=classname, name=_xml(name))
            if kind:
                ElementTree.SubElement(case, kind, message=_xml(message)).text = _xml(text)
        kinds = [kind for _, _, kind, _, _ in cases]
        counts = {"tests": len(kinds), "failures": kinds.count("failure")}
        counts["errors"] = kinds.count("error")
        suite.attrib.update({name: str(count) for name, count in counts.items()})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _cases(record: Record) -> list[tuple[str, str, str, str, str]]:
    """Class, name, "failure" or "error" or "", message and text of each case."""
    result = record.result
    if not isinstance(result, Grade):
        return [("submission", "grading", "error", result.kind, result.reason)]
    return [
        (
            result.scores.lesson,
            f"{score.exercise} {score.title}",
            _junit_kind(score),
            score.outcome,
            "\n".join(score.details),
        )
        for score in result.scores.scores
    ]


def _junit_kind(score: Score) -> str:
    if score.points == score.of:
        return ""
    return "error" if score.outcome == NOT_GRADED else "failure"


def _xml(text: str) -> str:
    return printable(text, max_chars=5000, keep="\n")


def feedback(records: list[Record]) -> str:
    """The page of one student: a box for each submission, a line for each exercise."""
    who = escape(printable(records[0].name or records[0].student or "Feedback"))
    boxes = "\n".join(_box(record) for record in records)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{who}</title>\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\"></head>\n"
        '<body style="font-family: sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em">'
        f"\n<h1>{who}</h1>\n{boxes}\n</body></html>\n"
    )


def _box(record: Record) -> str:
    result, path = record.result, printable(record.path)
    if isinstance(result, CannotBeGraded):
        lines = tuple(map(printable, result.reason.split("\n")))
        return page.box(State.ALARM, f"{path}: cannot be graded", page.preformatted(lines))
    if isinstance(result, GraderFailed):
        said = page.line(State.PLAIN, "The fault is not yours; it will be graded again.")
        return page.box(State.ALARM, f"{path}: not graded yet", said)
    scores = result.scores
    notes = "".join(f"<div>{page.marked(printable(note))}</div>" for note in scores.notes)
    title = f"{path}: {scores.points} of {scores.of} points"
    state = State.GOOD if scores.points == scores.of else State.BAD
    return page.box(state, title, notes + "".join(map(_exercise, scores.scores)))


def _exercise(score: Score) -> str:
    state = _state(score)
    text = f"{score.exercise} {score.title}: {score.outcome}, {score.points} of {score.of} points"
    lines = tuple(printable(detail, keep="\n") for detail in score.details)
    details = page.preformatted(lines) if lines else ""
    return page.line(state, text) + details


def _state(score: Score) -> State:
    if score.outcome == Outcome.NOT_ATTEMPTED:
        return State.OPEN
    return State.GOOD if score.points == score.of else State.BAD
