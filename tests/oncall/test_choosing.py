"""A new ticket: of a lesson or a class, and none again before all that fit were used."""

from collections import Counter
from contextlib import nullcontext

import pytest
from click.testing import CliRunner

from course_utils.causes.kinds import TAUGHT_BY
from course_utils.commands.group import course
from course_utils.errors import BadRequest
from course_utils.files.progress import ENV_NAME, Progress
from course_utils.oncall import actions, cases, choosing, folder


def drawn_by(progress, **asked):
    """The case of a new ticket, which is noted as used."""
    ticket = folder.ticket_of(choosing.new_seed(progress, **asked), asked["level"])
    choosing.note_use(progress, ticket)
    return folder.case_of(ticket).id


@pytest.mark.parametrize(
    "asked",
    [
        {"level": 1, "lesson": "10"},
        {"level": 2, "lesson": "11_served_not_trained"},
        {"level": 1, "kind": "template"},
        {"level": 2, "lesson": "09", "kind": "stale_weights"},
        {"level": 3},
    ],
)
def test_no_ticket_comes_again_before_all_that_fit_were_used(asked, tmp_path):
    progress = Progress(tmp_path / "progress.json")
    fitting = {
        case.id
        for case in map(cases.load, cases.proved())
        if case.level == asked["level"] and fits(case, asked.get("lesson"), asked.get("kind"))
    }
    for _ in range(2):
        assert {drawn_by(progress, **asked) for _ in fitting} == fitting


def fits(case, lesson, kind):
    kinds = {fault.kind for fault in case.faults}
    taught = set(TAUGHT_BY[lesson[:2]]) if lesson else kinds
    return bool(kinds & taught) and kind in {None, *kinds}


def test_a_ticket_that_was_checked_counts_as_used(tmp_path):
    progress, asked = Progress(tmp_path / "progress.json"), {"level": 2, "lesson": "10"}
    seed = choosing.new_seed(progress, **asked)
    progress.record_check(f"oncall.2.{seed}", outcome="wrong", points=0)
    progress.record_check("oncall.9.1", outcome="wrong", points=0)  # another version's
    assert drawn_by(progress, **asked) != folder.draw(seed, 2).id


def test_a_ticket_of_a_lesson_is_drawn_without_any_progress():
    seed = choosing.new_seed(None, level=2, lesson="9")
    assert fits(folder.draw(seed, 2), "09", None)


@pytest.mark.parametrize("level", [1, 2])
def test_every_class_that_a_lesson_teaches_has_tickets_of_levels_1_and_2(level):
    taught = set().union(*choosing.TAUGHT_BY.values())
    of_level = [case for case in map(cases.load, cases.proved()) if case.level == level]
    assert taught <= {fault.kind for case in of_level for fault in case.faults}


def test_lesson_11_has_tickets_of_levels_1_and_2():
    levels = Counter(c.level for c in map(cases.load, cases.proved()) if fits(c, "11", None))
    assert levels[1] >= 4 and levels[2] >= 4


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"lesson": "00"}, "no tickets for a lesson '00'"),
        ({"lesson": "x"}, "no tickets for a lesson 'x'"),
        ({"kind": "x"}, "no class 'x'"),
        ({"kind": "images"}, "no ticket of level 1 for class images"),
        ({"kind": "resume"}, "no ticket of level 1 for class resume"),
        ({"lesson": "11", "kind": "rate"}, "for lesson 11 and class rate"),
    ],
)
def test_where_nothing_fits_the_reader_is_told_what_does(asked, said):
    with pytest.raises(BadRequest, match=said) as refused:
        choosing.new_seed(None, level=1, **asked)
    assert ("--level 2" in refused.value.fix) == ("resume" in said)


def test_the_command_remembers_what_it_gave(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ENV_NAME, str(tmp_path / "progress.json"))
    monkeypatch.setattr(actions, "Trainers", nullcontext)
    given = []
    monkeypatch.setattr(folder, "write", lambda path, ticket, _: given.append(ticket))
    asked = ["oncall", "new", "--lesson", "09", "--level", "2"]
    num = sum(c.level == 2 and fits(c, "09", None) for c in map(cases.load, cases.proved()))
    for _ in range(num):
        assert CliRunner().invoke(course, asked).exit_code == 0
    assert num > 1 and len({folder.case_of(ticket).id for ticket in given}) == num
