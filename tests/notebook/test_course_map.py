"""The map of the course is drawn from the outline, so that a new lesson is on it."""

import pytest

from course_utils.concepts import lesson_00
from course_utils.exercises.outline import Entry, outline
from course_utils.shown import plotting
from course_utils.shown.figures import strict


@pytest.fixture
def shown(monkeypatch):
    pictures = []
    monkeypatch.setattr(plotting, "display", pictures.append)
    monkeypatch.setenv(strict.ENV_NAME, "1")
    return pictures


@pytest.fixture
def longer(monkeypatch):
    """A course of eleven lessons: four more than there are."""
    more = [Entry(f"{n:02}_new", f"Title of lesson {n}", 60, ("02",)) for n in range(90, 94)]
    monkeypatch.setattr(lesson_00, "outline", lambda: (*outline(), *more))
    lesson_00.steps_before.cache_clear()
    yield more
    lesson_00.steps_before.cache_clear()


def test_every_lesson_is_on_the_map(shown):
    lesson_00.course_map()
    for entry in outline():
        assert f"{entry.number} (" in shown[0]._alt
    assert f"{len(outline())} lessons" in shown[0].text()


def test_a_lesson_that_is_added_is_on_the_map_behind_what_it_builds_on(longer, shown):
    lesson_00.course_map()
    for entry in longer:
        assert f"{entry.number} (after 02): {entry.title}" in shown[0]._alt
        assert lesson_00.steps_before(entry.number) == 1 + lesson_00.steps_before("02")


def test_lessons_build_on_earlier_lessons_that_exist():
    numbers = [entry.number for entry in outline()]
    for entry in outline():
        assert all(before in numbers and before < entry.number for before in entry.builds_on)


def test_no_arrow_repeats_what_a_longer_way_says():
    assert lesson_00.leads_from("05") == ["03"]  # 03 builds on 01, and so 05 does too
