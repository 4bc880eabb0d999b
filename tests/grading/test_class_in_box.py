"""Thirty submissions with answers and faults, graders killed: thirty results, right points.

`python -m benchmarks.grading.whole_class` does it with 1,000; `make prove` runs both. In
`make test` graders that execute nothing take their place (test_batch.py).
"""

import pytest
from whole import IS_WHOLE

from benchmarks.grading import whole_class as grading
from course_utils.box.kind import find_kind
from course_utils.exercises import find_lesson

pytestmark = [
    pytest.mark.skipif(not IS_WHOLE, reason="a stand-in is run: `make prove` does it"),
    pytest.mark.skipif(
        not find_kind().has_walls, reason=f"no box can be made here: {find_kind().saw}"
    ),
]


def test_each_submission_gets_one_result_and_the_points_of_its_answers():
    table = grading.faulty(30, [find_lesson("00")], num_stops=1)
    counts = dict(table.rows)
    assert table.title == "30 submissions, 30 results"
    assert counts["another result than it must have"] == "0"
    assert int(counts["points known beforehand"]) >= 15
    assert counts["killed: course grade"] == "1"
