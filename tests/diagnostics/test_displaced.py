"""DPO in which both log-probs fall: named where the chosen replies are lost, else only counted."""

import pytest

from course_utils import incidents
from course_utils.diagnostics.diagnosis.front import subject_of
from course_utils.diagnostics.diagnosis.looks.displaced import look_at_displaced
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet


def looked_at(run) -> Sheet:
    run.start()
    sheet = Sheet()
    look_at_displaced(subject_of(run.trainer), sheet)
    return sheet


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_lost_replies_are_named_and_the_twin_keeps_them(variant):
    sheet = looked_at(incidents.load_incident("both_logps_fall").make(variant, 0))
    assert [one.key for one in sheet.found] == ["margin_by_pushing_down"] * (variant == "broken")
    assert all("loss_type" in one.place and "'sft'" in one.fix for one in sheet.found)


def test_a_small_loss_of_both_is_counted_and_no_fault():
    sheet = looked_at(incidents.load_look_alike("both_logps_fall_a_little").make(0))
    assert not sheet.found and "chosen -" in sheet.shown["replies of the first pairs"]
