"""`course grade`: points for notebooks, on the screen, as JSON and as JUnit XML."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import click

from course_utils.commands import BAD_INPUT
from course_utils.commands.progress_line import ProgressLine
from course_utils.errors import CourseError
from course_utils.notebook.execute import Limits
from course_utils.notebook.grading import NOT_GRADED, Grade, grade_notebook
from course_utils.notebook.repository import find_repository
from course_utils.saving import save

NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # colours in a traceback, say
FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("notebooks", nargs=-1, type=FILE, metavar="[NOTEBOOK]...")
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="Write the grades as JSON.")
@click.option("--junit", "junit_path", type=FILE, metavar="FILE", help="The same as JUnit XML.")
@click.option(
    "--cell-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="What one cell may take.",
)
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    default=900.0,
    show_default=True,
    metavar="SECONDS",
    help="What one notebook may take.",
)
@click.pass_context
def grade(ctx, notebooks, json_path, junit_path, cell_limit, limit) -> None:
    """Grade notebooks (by default all in notebooks/) in a fresh kernel.

    Every cell but your answers is the lesson's own, whatever the notebook holds. Ends with 0 for
    full marks, 1 for less, 2 for a notebook that cannot be graded.
    """
    repository, progress = find_repository(), ProgressLine()
    paths = notebooks or [repository.student_path(stem) for stem in repository.stems()]
    grades, refused = [], []
    for path in paths:
        try:
            grades.append(
                grade_notebook(repository, path, Limits(cell_limit, limit), progress.on_cell)
            )
        except CourseError as error:
            refused.append(error)
            progress.clear()
            click.echo(str(error), err=True)
        else:
            progress.clear()
            click.echo(grades[-1].text())
    points, of = sum(g.points for g in grades), sum(g.of for g in grades)
    click.echo(f"Total: {points} of {of} points")
    if json_path:
        data = {"points": points, "of": of, "notebooks": [g.to_dict() for g in grades]}
        data["refused"] = [str(error) for error in refused]
        save(json_path, f"{json.dumps(data, indent=1)}\n")
    if junit_path:
        save(junit_path, junit(grades))
    ctx.exit(BAD_INPUT if refused else int(points < of))


def junit(grades: list[Grade]) -> str:
    """The grades as JUnit XML: one suite a notebook, one case an exercise."""
    root = ElementTree.Element("testsuites")
    for one in grades:
        failed = [item for item in one.graded if item.points < item.exercise.points]
        errors = sum(item.outcome == NOT_GRADED for item in failed)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            {
                "name": str(one.path),
                "tests": str(len(one.graded)),
                "failures": str(len(failed) - errors),
                "errors": str(errors),
            },
        )
        for item in one.graded:
            name = f"{item.exercise.id} {item.exercise.title}"
            case = ElementTree.SubElement(suite, "testcase", classname=one.lesson, name=name)
            if item in failed:
                kind = "error" if item.outcome == NOT_GRADED else "failure"
                child = ElementTree.SubElement(case, kind, message=item.outcome)
                child.text = NOT_XML.sub("", "\n".join(item.details))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
