"""No line that the course prints is wider than a page, and none is broken inside a word."""

import pytest

from course_utils.shown.page import State
from course_utils.shown.report import Note, Table
from course_utils.shown.wrap import WIDTH, columns, wrapped

LONG = "the gradient of score.modules_to_save.default.weight is nan " * 4


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


@pytest.mark.parametrize("indent", ["", "    "])
def test_a_long_line_is_broken_at_spaces_and_keeps_its_words_and_its_indent(indent):
    text = wrapped(indent + LONG)
    assert widest(text) <= WIDTH
    assert text.split() == LONG.split()
    assert all(line.startswith(indent) for line in text.splitlines())


def test_what_fits_stays_as_it_is():
    fits = "two  spaces\n\n    a line of its own " + "x" * 60
    assert wrapped(fits) == fits


def test_a_word_wider_than_the_page_is_left_whole():
    assert "y" * (WIDTH + 20) in wrapped("see " + "y" * (WIDTH + 20))


def test_a_wide_table_keeps_every_word_and_its_columns_stay_aligned():
    rows = [("claim", "verdict", "vote"), ("C1", LONG, "true"), ("C2", "no", LONG)]
    lines = columns(rows)
    assert max(map(len, lines)) <= WIDTH
    assert sorted(" ".join(lines).split()) == sorted(" ".join(map(" ".join, rows)).split())
    start = lines[0].index("verdict")
    assert all(line[start - 2 : start].strip() == "" for line in lines)


def test_a_table_that_fits_is_laid_out_as_before():
    table = Table(columns=("step", "loss"), rows=[("1", "0.69"), ("20", "nan")])
    assert table.text() == "  step  loss\n  1     0.69\n  20    nan"


def test_a_table_of_long_words_is_shown_whole():
    assert columns([("a" * 80, "b" * 80)]) == [f"{'a' * 80}  {'b' * 80}"]


def test_notes_and_tables_fit():
    note = Note(State.BAD, LONG, (LONG, LONG))
    table = Table(columns=("a", "b"), rows=[(LONG, LONG)], title=LONG, notes=(LONG,))
    assert max(widest(str(note)), widest(str(table))) <= WIDTH
