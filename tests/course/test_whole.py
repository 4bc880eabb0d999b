"""`make test` takes the first case of each kind, and `make prove` all."""

import pytest
import whole


@pytest.mark.parametrize(("is_whole", "due", "num_left"), [(False, [3, 4], 3), (True, None, 0)])
def test_the_first_of_each_kind_is_taken_or_all(is_whole, due, num_left, monkeypatch):
    monkeypatch.setattr(whole, "IS_WHOLE", is_whole)
    every = [3, 1, 4, 1, 5]
    taken = whole.cases(every, kind=lambda number: number % 2)
    assert (taken, taken.num_left) == (due or every, num_left)
    assert whole.cases(every).num_left == (0 if is_whole else 4)
    taken = whole.cases(every, elsewhere=lambda number: number != 4)
    assert (taken, taken.num_left) == ((every, 0) if is_whole else ([4], 4))
