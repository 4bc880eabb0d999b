"""`course build`: stubs are derived, notebooks repeat, and no student's work is overwritten.

About 25 s: four builds execute a small lesson each.
"""

import errno
import os
from dataclasses import replace

import pytest
from fake_course import FIXTURES, SOURCE, answer, cell_of, cli, edit
from nbformat import v4

from course_utils.commands import build
from course_utils.errors import BadNotebook
from course_utils.files import saving
from course_utils.notebook import derive
from course_utils.notebook.files import read_notebook, write_notebook
from course_utils.notebook.findings import findings
from course_utils.notebook.lesson_source import load_source
from course_utils.notebook.regions import IN_ASSIGNMENT, IN_BODY, stub_source

lessons_90_and_91, unbuilt, course = FIXTURES

B, E = "### BEGIN SOLUTION", "### END SOLUTION"
STUBS = {
    "a function's body": (
        f"def f(x):\n    y = 1\n    {B}\n    return x + y\n    {E}",
        f"def f(x):\n    y = 1\n    {IN_BODY}",
    ),
    "assignments": (
        f"{B}\na, b = 1, 2\nc: int = 3\n{E}\nd = 4",
        f"a = {IN_ASSIGNMENT}\nb = {IN_ASSIGNMENT}\nc = {IN_ASSIGNMENT}\nd = 4",
    ),
    "a name assigned twice": (
        f"{B}\na = 1\nb = 2\na = a + b\n{E}",
        f"a = {IN_ASSIGNMENT}\nb = {IN_ASSIGNMENT}",
    ),
    "a whole function": (
        f'{B}\ndef f(\n    x,  # nats\n):\n    """Double."""\n    # trick\n    return 2 * x\n{E}',
        f'def f(\n    x,  # nats\n):\n    """Double."""\n    {IN_BODY}',
    ),
    "a function without docstring": (
        f"{B}\n@cache\ndef f(x):\n    # the trick\n    return 2 * x\n{E}",
        f"@cache\ndef f(x):\n    {IN_BODY}",
    ),
}

BAD_CELLS = {
    "nested": (f"{B}\n{B}\na = 1\n{E}\n{E}", "inside a region"),
    "stray end": (f"a = 1\n{E}", "outside any region"),
    "never closed": (f"{B}\na = 1", "no '### END SOLUTION'"),
    "misspelt": (f"## begin solution\na = 1\n{E}", "outside any region"),
    "on a line with code": (f"a = 1  {B}\n{E}", "outside any region"),
    "empty": (f"{B}\n{E}", "an empty region"),
    "no assignment": (f"{B}\nprint(1)\n{E}", r"the line 'print\(1\)'"),
    "an if": (f"if True:\n    {B}\n    a = 1\n    {E}", "does not compile"),
    "in a call": (f"a = dict(\n    {B}\n    b=1,\n    {E}\n)", "does not compile"),
    "one-line function": (f"{B}\ndef f(x): return x\n{E}", "f on one line"),
    "not Python": (f"{B}\na = = 1\n{E}", "not Python"),
    "with its check": (f"{B}\nlimit = 1\n{E}\nex.LIMIT.check(limit)", "ex.LIMIT.check"),
    "two answers": (f"{B}\nlimit = 1\ndouble = 2\n{E}", "answers 90.1 and 90.2"),
    "unknown check": ("ex.OTHER.check(1)", "checks ex.OTHER"),
    "two checks": ("ex.LIMIT.check(1)\nex.DOUBLE.check(1)", "more than one"),
}


@pytest.mark.parametrize("case", STUBS)
def test_a_stub_is_derived_from(case):
    written, stub = STUBS[case]
    assert stub_source(written, "a cell") == stub


@pytest.mark.parametrize("case", BAD_CELLS)
def test_a_malformed_cell_is_named(case, unbuilt):
    cell, message = BAD_CELLS[case]
    path = unbuilt.source_path("90_fake")
    path.write_text(f"# %%\n1 + 1\n\n# %%\n{cell}\n")
    with pytest.raises(BadNotebook, match=message) as caught:
        load_source(path)
    assert "90_fake.py, cell 2" in str(caught.value)


@pytest.mark.parametrize("head", ["# %% [markdown]", '# %% tags=["solution"]'])
def test_a_region_outside_the_students_code_is_refused(head, unbuilt):
    path = unbuilt.source_path("90_fake")
    path.write_text(f"{head}\n# {B}\n# a\n# {E}\n")
    with pytest.raises(BadNotebook, match="has a region in text"):
        load_source(path)


def test_both_notebooks_come_from_one_source(course):
    student = read_notebook(course.student_path("90_fake"))
    solved = read_notebook(course.solved_path("90_fake"))
    head = "# Exercise 90.2: your answer\n"
    assert cell_of(student, "answer", "90.2").source == f"{head}limit = {IN_ASSIGNMENT}"
    assert cell_of(solved, "answer", "90.2").source == f"{head}limit = 65504"
    assert [c.id for c in student.cells] == [
        c.id for c in solved.cells if c.metadata.course.role != "solution"
    ]
    assert not any(c.outputs for c in student.cells if c.cell_type == "code")
    code = [c for c in solved.cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1))
    assert "passed" in str(cell_of(solved, "check", "90.1").outputs)


def test_building_again_changes_no_byte_and_leaves_nothing_behind(course):
    before = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    assert cli("build", "90").exit_code == 0
    assert before == {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}


def test_build_leaves_a_students_work_alone(course, monkeypatch):
    monkeypatch.setattr(build, "solve", lambda _repository, source: build.derive_solved(source))
    path = course.student_path("90_fake")
    edit(path, lambda notebook: answer(notebook, "90.2", "limit = 7"))
    before = path.read_bytes()
    course.source_path("90_fake").write_text(SOURCE.replace("Twice x", "Two times x"))
    result = cli("build", "90")
    assert result.exit_code == 1 and path.read_bytes() == before
    assert "was left alone: `course reset 90` keeps a copy" in result.stderr


def test_build_renews_a_copy_that_nobody_worked_on(course, monkeypatch):
    monkeypatch.setattr(build, "solve", lambda _repository, source: build.derive_solved(source))
    course.source_path("90_fake").write_text(SOURCE.replace("Twice x", "Two times x"))
    cli("build", "90")
    student = read_notebook(course.student_path("90_fake"))
    assert "Two times x" in cell_of(student, "answer", "90.1").source


def test_text_is_renewed_without_an_execution_and_code_is_not(course, monkeypatch):
    monkeypatch.setattr(build, "execute", None)
    before = read_notebook(course.solved_path("90_fake"))
    course.source_path("90_fake").write_text(SOURCE.replace("A fake lesson", "A new title"))
    assert cli("build", "--text", "90").exit_code == 0
    after = read_notebook(course.solved_path("90_fake"))
    assert [c.get("outputs") for c in after.cells] == [c.get("outputs") for c in before.cells]
    assert any("A new title" in c.source for c in after.cells)
    kept = course.solved_path("90_fake").read_bytes()
    course.source_path("90_fake").write_text(SOURCE.replace("2 * x", "x + x"))
    result = cli("build", "--text", "90")
    assert result.exit_code == 1 and "not the code that was executed" in result.stderr
    assert course.solved_path("90_fake").read_bytes() == kept


def test_a_cell_that_shows_the_outline_is_stale_once_the_outline_has_changed(course, monkeypatch):
    monkeypatch.setattr(derive, "MAPS", ('print("seed"',))
    source = load_source(course.source_path("90_fake"))
    solved = derive.solved_notebook(source)
    assert derive.is_same_lesson(solved, derive.solved_notebook(source))
    write_notebook(course.solved_path("90_fake"), solved)
    monkeypatch.setattr(derive, "outline", lambda: ())
    assert "solutions/90_fake.ipynb is stale" in cli("build", "--check").stderr
    renewed = cli("build", "--text", "90")
    assert renewed.exit_code == 1 and "not the code that was executed" in renewed.stderr


def test_a_solution_that_fails_names_its_cell_and_keeps_the_last_good_one(course):
    before = course.solved_path("91_other").read_bytes()
    source = course.source_path("91_other")
    source.write_text(source.read_text().replace("answer = 42", "answer = 42 // 0"))
    result = cli("build", "91")
    assert result.exit_code == 1 and course.solved_path("91_other").read_bytes() == before
    assert "solutions/91_other.py: cell 3: ZeroDivisionError" in result.stderr


def test_check_is_clean_after_a_build_and_notes_work_in_progress(course):
    assert cli("build", "--check").exit_code == 0
    edit(course.student_path("90_fake"), lambda nb: answer(nb, "90.2", "limit = 7"))
    result = cli("build", "--check")
    assert result.exit_code == 0
    assert "notebooks/90_fake.ipynb is in work" in result.output


def test_what_this_course_generates_is_current():
    result = cli("build", "--check")
    assert result.exit_code == 0, result.stderr


def stale_student(course):
    source = course.source_path("90_fake")
    source.write_text(source.read_text().replace('"seed"', '"the seed"'))


def no_student_copy(course):
    course.student_path("90_fake").unlink()


def leaks(course):
    def change(notebook):
        notebook.cells.append(v4.new_code_cell("# twice_the_value = 2 * x"))

    edit(course.student_path("90_fake"), change)


def edits_a_lesson_cell(course):
    def change(notebook):
        cell_of(notebook, "check", "90.1").source = "print('passed')"

    edit(course.student_path("90_fake"), change)


def solved_out_of_order(course):
    def change(notebook):
        notebook.cells[-1].execution_count = 99

    edit(course.solved_path("90_fake"), change)


def solved_with_error(course):
    def change(notebook):
        notebook.cells[-1].outputs = [v4.new_output("error", ename="KeyError", evalue="1")]

    edit(course.solved_path("90_fake"), change)


def solved_with_stderr(course):
    def change(notebook):
        notebook.cells[-1].outputs = [v4.new_output("stream", name="stderr", text="a warning")]

    edit(course.solved_path("90_fake"), change)


def no_check_cell(course):
    source = course.source_path("90_fake")
    source.write_text(source.read_text().replace("ex.LIMIT.check(limit)", "print(limit)"))


def no_answer_cell(course):
    source = course.source_path("90_fake")
    source.write_text(source.read_text().replace("limit = 65504", "largest = 65504"))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (stale_student, "notebooks/90_fake.ipynb is stale"),
        (stale_student, "solutions/90_fake.ipynb is stale"),
        (no_student_copy, "notebooks/90_fake.ipynb does not exist"),
        (leaks, "shows a line of the solution: 'twice_the_value = 2 * x'"),
        (edits_a_lesson_cell, "1 of the lesson's own cells are changed or missing"),
        (solved_out_of_order, "was not executed from top to bottom"),
        (solved_with_error, "holds an error in [9]: KeyError"),
        (solved_with_stderr, "holds stderr output in [9]: 'a warning'"),
        (no_check_cell, "has no cell with ex.LIMIT.check"),
        (no_answer_cell, "has 0 cells with a region that defines 'limit'"),
    ],
)
def test_check_finds(spoil, message, course):
    assert findings(course, "90_fake") == []
    spoil(course)
    result = cli("build", "--check", "90")
    assert result.exit_code == 1 and message in result.stderr


def test_a_lesson_without_exercises_is_found(course, monkeypatch):
    from course_utils.exercises import lesson_91

    empty = lesson_91.Lesson(stem="91_other", title="", minutes=1, exercises=())
    monkeypatch.setattr(lesson_91, "LESSON", empty)
    course.source_path("91_other").write_text("# %%\n1 + 1\n")
    assert "91_other has no exercise" in cli("build", "--check", "91").stderr


def test_an_exercise_stands_where_its_lesson_declares_it(course, monkeypatch):
    from course_utils.exercises import lesson_90

    deeper = replace(lesson_90.LESSON, deeper=("90.2",))
    monkeypatch.setattr(lesson_90, "LESSON", deeper)
    told = cli("build", "--check", "90").stderr
    assert "exercise 90.2 stands in section" in told and "declares it as deeper look" in told
    path = course.source_path("90_fake")
    head, check = path.read_text().split("# %%\nex.LIMIT.check", 1)
    path.write_text(
        f"{head}# %% [markdown]\n# ## 2. Deeper look: limits\n\n# %%\nex.LIMIT.check{check}"
    )
    assert "stands in section" not in cli("build", "--check", "90").stderr


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "No space left on device"),
        (errno.EACCES, "Permission denied"),
    ],
)
def test_a_build_that_cannot_write_says_so_and_loses_nothing(course, monkeypatch, number, message):
    def fail(*_arguments):
        raise OSError(number, os.strerror(number))

    before = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    stale_student(course)
    monkeypatch.setattr(saving.os, "replace", fail)
    result = cli("build", "90")
    assert result.exit_code == 2 and message in result.stderr and "why:" in result.stderr
    course.source_path("90_fake").write_text(SOURCE)
    assert before == {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}


def test_a_device_is_written_to_and_never_replaced(tmp_path):
    full = "/dev/full"
    if not os.path.exists(full):
        pytest.skip("this system has no /dev/full")
    link = tmp_path / "full"
    link.symlink_to(full)
    with pytest.raises(saving.NotSaved, match="No space left on device"):
        saving.save(link, "text")
    assert link.is_symlink() and link.is_char_device()
