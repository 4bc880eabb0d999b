"""Whatever a file holds: it is a submission, or one sentence says why it cannot be one."""

import json

import pytest
from attacks import notebooks
from classes import RIGHT, notebook
from fake_course import FIXTURES

from course_utils.grading.handout import load_handout
from course_utils.grading.intake import of_folder
from course_utils.grading.merge import merge
from course_utils.grading.repair import repaired
from course_utils.grading.result import CannotBeGraded, Grade, Score, Scores
from course_utils.grading.submission import parse
from course_utils.grading.worker import Request, grade

lessons_90_and_91, unbuilt, course = FIXTURES


def grade_one(repository, submission, _limits, _known) -> Scores:
    """Two points for each answer that has come to its place in the lesson."""
    handout = load_handout(repository.source_path(submission.lesson))
    fixed = repaired(handout, submission)
    merged = merge(handout, fixed)
    answers = [cell for cell in merged.cells if cell.is_answer]
    right = [right in cell.source for cell, (_, right) in zip(answers, RIGHT, strict=True)]
    scores = tuple(Score("90", "", "", 2 * is_right, 2) for is_right in right)
    return Scores("90_fake", scores, (*fixed.notes, *merged.notes))


@pytest.mark.parametrize("attack", notebooks.ALL, ids=lambda attack: attack.name)
def test_every_file_gets_exactly_one_result(course, tmp_path, attack):
    path = tmp_path / "class" / "ada" / "90_fake.ipynb"
    path.parent.mkdir(parents=True)
    attack.write(path, notebook(course))
    [handin] = of_folder(tmp_path / "class").handins
    points, said = None, f"{handin.below} {handin.problem}"
    if not handin.problem:
        request = Request(str(handin.path), handin.below, handin.student, "", 1, 1)
        points, said = seen(grade(course, request, grade_one))
    assert (points, attack.says in said) == (attack.points, True), said
    assert said.replace("\n", "").isprintable()


def seen(result) -> tuple[int | None, str]:
    if isinstance(result, Grade):
        return result.scores.points, "\n".join(result.scores.notes)
    assert isinstance(result, CannotBeGraded), result
    return None, result.reason


def test_an_answer_that_does_not_compile_is_found_beside_a_cell_that_uses_its_name(course):
    data = notebook(course, added="double = 3")
    for cell in data["cells"]:
        del cell["id"]
        cell["source"] = cell["source"].replace("def double(x):", "def double(x:")
    assert "def double(x:" in answers(course, data)["90.1"]


def test_of_two_cells_that_only_define_the_name_none_is_taken(course):
    data = notebook(course)
    data["cells"] = [
        {"cell_type": "code", "metadata": {}, "source": text}
        for text in ("limit = 1", "limit = 65504", "def double(x):\n    return x + x")
    ]
    handout = load_handout(course.source_path("90_fake"))
    fixed = repaired(handout, parse(json.dumps(data).encode(), "n.ipynb"))
    assert "2 cells may be the answer of exercise 90.2: none is" in fixed.notes
    assert merge(handout, fixed).missing == ("90.2",)
    assert "return x + x" in answers(course, data)["90.1"]


def test_one_cell_is_the_answer_of_one_exercise(course):
    data = notebook(course)
    both = "limit = 65504\ndef double(x):\n    return x + x"
    data["cells"] = [{"cell_type": "code", "metadata": {}, "source": both}]
    assert [key for key, text in answers(course, data).items() if text == both] == ["90.1"]


def answers(course, data: dict) -> dict[str, str]:
    """The answer cells of the merged notebook, by exercise."""
    handout = load_handout(course.source_path("90_fake"))
    fixed = repaired(handout, parse(json.dumps(data).encode(), "n.ipynb"))
    return {cell.exercise: cell.source for cell in merge(handout, fixed).cells if cell.is_answer}
