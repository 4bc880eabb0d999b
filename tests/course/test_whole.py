"""`make test` takes the first case of each kind, and `make prove` all."""

import pytest
import whole
from course_command import ROOT


@pytest.mark.parametrize(("is_whole", "due", "num_left"), [(False, [3, 4], 3), (True, None, 0)])
def test_the_first_of_each_kind_is_taken_or_all(is_whole, due, num_left, monkeypatch):
    monkeypatch.setattr(whole, "IS_WHOLE", is_whole)
    every = [3, 1, 4, 1, 5]
    taken = whole.cases(every, kind=lambda number: number % 2)
    assert (taken, taken.num_left) == (due or every, num_left)
    assert whole.cases(every).num_left == (0 if is_whole else 4)
    taken = whole.cases(every, elsewhere=lambda number: number != 4)
    assert (taken, taken.num_left) == ((every, 0) if is_whole else ([4], 4))


def test_slow_tests_are_left_but_for_the_quickest_of_a_file_that_has_no_other():
    ids = ["a.py::quick", "a.py::slow", "b.py::slow[1]", "b.py::slow[2]", "c.py::new"]
    seconds = {"a.py::slow": 9.0, "b.py::slow[1]": 5.0, "b.py::slow[2]": 4.0, "gone.py::slow": 3.0}
    assert whole.slow_ones(ids, seconds) == {"a.py::slow", "b.py::slow[1]"}


def test_what_was_measured_is_slow_and_is_a_test_of_a_file_that_is_there():
    found = whole.measured()
    files = {name.partition("::")[0] for name in found}
    assert found and min(found.values()) >= whole.SLOW
    assert [file for file in files if not (ROOT / file).exists()] == []
