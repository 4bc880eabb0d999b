"""The unread logs: that they are whole, and how what is said of them is counted."""

from benchmarks.diagnostics.unread.__main__ import FOLDER, Counted, by_cause, is_sound, key, rows
from course_utils.causes import CAUSES

FEW = [
    Counted("f_01", "pad_is_eos", "pad_is_eos", is_called_healthy=False),
    Counted("f_02", "pad_is_eos", "end_masked", is_called_healthy=False),
    Counted("g_03", "beta_zero", "", is_called_healthy=True),
    Counted("g_04", "healthy", "end_masked", is_called_healthy=False),
    Counted("a_05", "scaler_search", "", is_called_healthy=True),
]


def test_every_log_has_a_cause_of_the_catalogue_or_is_healthy():
    told = key()["logs"]
    assert {path.stem for path in (FOLDER / "logs").glob("*.txt")} == set(told)
    assert all(one["key"] == "healthy" or one["key"] in CAUSES for one in told.values())
    assert len(told) > 300


def test_right_another_and_nothing_are_told_apart_and_a_sound_cause_is_no_fault():
    read, common, others = rows(FEW)
    assert read[1:] == ("2", "1", "1", "0", "0", "0", "0")
    assert common[1:] == ("1", "0", "0", "1", "1", "1", "1")
    assert others[1:] == ("0", "0", "0", "0", "0", "1", "0") and is_sound("scaler_search")


def test_the_cause_that_is_named_wrongly_most_comes_first():
    assert by_cause(FEW) == [
        "end_masked: 0 right, 1 another, 1 accused",
        "pad_is_eos: 1 right, 0 another, 0 accused",
    ]
