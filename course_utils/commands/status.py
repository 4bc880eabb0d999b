"""`course status` and `course reset`: shows a student's progress, and resets it."""

import click

from course_utils.errors import BadNotebook
from course_utils.exercises import find_exercise, find_lesson
from course_utils.files.progress import Progress
from course_utils.files.repository import Repository, find_repository
from course_utils.notebook.derive import course_metadata, student_notebook
from course_utils.notebook.files import keep_aside, read_notebook, write_notebook
from course_utils.notebook.lesson_source import ANSWER, load_source


@click.command()
def status() -> None:
    """Show your progress in all lessons."""
    from course_utils.lesson.handle import (
        progress_table,  # imports IPython, which reset does not need
    )

    repository = find_repository()
    lessons = [find_lesson(stem) for stem in repository.stems()]
    click.echo(progress_table(lessons, Progress(repository.progress_path)).text())


@click.command()
@click.argument("name", metavar="LESSON|EXERCISE")
def reset(name: str) -> None:
    """Start a lesson (03) or one exercise (03.1) afresh; your copy is kept beside it."""
    repository = find_repository()
    number, dot, _ = name.partition(".")
    [stem] = repository.find((number,))
    if dot:
        reset_exercise(repository, stem, name)
    else:
        reset_lesson(repository, stem)


def reset_lesson(repository: Repository, stem: str) -> None:
    """Replace the student's copy by a new one; forget its exercises, predictions and votes."""
    source, path = load_source(repository.source_path(stem)), repository.student_path(stem)
    kept = keep_aside(path) if path.exists() else None
    write_notebook(path, student_notebook(source))
    items = (*source.lesson.exercises, *source.lesson.predictions)
    for name in (*(item.id for item in items), source.lesson.topic):
        Progress(repository.progress_path).forget(name)
    click.echo(f"notebooks/{path.name} is new{f'; yours is kept as {kept.name}' if kept else ''}")


def reset_exercise(repository: Repository, stem: str, exercise_id: str) -> None:
    """Put one answer cell back to its stub and forget what is known of its exercise.

    Raises:
        BadRequest: there is no such exercise.
        BadNotebook: the student's copy cannot be read, or has no such cell.
    """
    find_exercise(exercise_id)
    source, path = load_source(repository.source_path(stem)), repository.student_path(stem)
    notebook, wanted = read_notebook(path), {"role": ANSWER, "exercise": exercise_id}
    answers = [cell for cell in notebook.cells if course_metadata(cell) == wanted]
    if not answers:
        raise BadNotebook(
            f"{path} has no answer cell of exercise {exercise_id}",
            why="it was deleted, or the notebook is of another version",
            fix=f"run `course reset {source.lesson.number}`, which keeps a copy",
        )
    kept = keep_aside(path)
    [stub] = [cell.stub for cell in source.cells_for(exercise_id, ANSWER)]
    answers[0].source, answers[0].outputs, answers[0].execution_count = stub, [], None
    write_notebook(path, notebook)
    Progress(repository.progress_path).forget(exercise_id)
    click.echo(f"exercise {exercise_id} is new; your notebook is kept as {kept.name}")
