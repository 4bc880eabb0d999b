"""Fixes that a stranger wrote are not refused, and count where they were made."""

import pytest
from whole import cases as some

from benchmarks.oncall import mends
from course_utils.oncall import check as checks
from course_utils.oncall import folder, judging, templates

DUE = [one for one in mends.kept()[1] if one.must_be_solved]


@pytest.mark.parametrize("mend", some(DUE), ids=lambda one: f"{one.case}-{one.seed}")
def test_a_right_fix_is_not_refused_and_its_report_is_right(mend):
    files = mend.files()
    if files is None:
        pytest.skip("this ticket is written in another way now")
    healthy, handed = folder.handed_out(mend.ticket)
    template = templates.load(folder.case_of(mend.ticket).template)
    assert judging.refused(template, healthy, handed, files) == []
    assert checks.reported_on(mend.ticket, files, mend.report_text(), lambda: True).is_right
