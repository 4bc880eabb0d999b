"""A ticket names its parts alike everywhere: in its source, and where a part is replaced."""

import pytest

from course_utils.errors import BadRequest
from course_utils.reproductions.lesson_06 import unseen_06
from course_utils.reproductions.lesson_10 import unseen_10
from course_utils.reproductions.reported_script import Ticket


def with_a_telling_name(x):
    return x + 1


class Added(Ticket):
    causes = {"a": "one is added"}  # noqa: RUF012

    def run(self, parts, seed):
        return {name: part(seed) for name, part in parts.items()}


TICKET = Added("It is off by one.", {"add": with_a_telling_name, "keep": int})


def test_fresh_replaces_a_part():
    assert TICKET.fresh(3) == {"add": 4, "keep": 3}
    assert TICKET.fresh(3, add=int) == {"add": 3, "keep": 3}


def test_fresh_raises_where_no_part_has_the_name():
    with pytest.raises(BadRequest, match="no part with_a_telling_name") as error:
        TICKET.fresh(3, with_a_telling_name=int)
    assert "one of add, keep" in str(error.value)


@pytest.mark.parametrize("make", [unseen_06.adapter_stands_still, unseen_10.silence_is_golden])
def test_the_source_shows_every_part_under_its_name(make):
    ticket, names = make(), {}
    exec(compile(ticket.source(), "ticket", "exec"), names)
    for part, function in ticket.parts.items():
        assert names[part].__code__.co_code == function.__code__.co_code
        assert part == function.__name__ or function.__name__ not in ticket.source()
