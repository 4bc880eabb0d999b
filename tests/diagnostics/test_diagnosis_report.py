"""A report of `diagnose`: one sentence, causes with their consequences, one item per line."""

from course_utils.causes.harms import EVALUATION, MEASURED, SERVING, SOUND
from course_utils.diagnostics.diagnosis.report.report import BESIDE, Diagnosis
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.unexplained import Odd
from course_utils.diagnostics.diagnosis.verdicts import verdict_of
from course_utils.shown.wrap import WIDTH


def sheet() -> Sheet:
    """A run whose replies earn alike, and which was looked at in other ways as well."""
    made = Sheet()
    made.find("no_signal", COUNTED, "all groups are alike", place="advantages", specimen=("'4'",))
    made.clear("weights", "50 tensors, all finite")
    made.show("advantages", "all 0")
    made.show("updates", "0 nats a token")
    made.show("entropy", "0.3")
    made.miss("the tokens", "there is no tokenizer")
    made.settings["steps"] = "8 rows"
    return made


def test_a_number_that_follows_from_a_cause_is_neither_fine_nor_unjudged():
    report = Diagnosis.of("GRPOTrainer", sheet())
    assert dict(report.causes[0].follows) == {"advantages": "all 0", "updates": "0 nats a token"}
    assert report.checked == {"weights": "50 tensors, all finite"}
    assert report.shown == {"entropy": "0.3"}
    kinds = [row[0] for row in report.table().rows]
    assert kinds[:3] == ["cause 1", "consequence of 1", "consequence of 1"]


def test_a_healthy_report_has_no_consequences_and_nothing_odd():
    made = sheet()
    made.found.clear()
    made.odd.append(Odd("the first loss is large", frozenset()))
    report = Diagnosis.of("GRPOTrainer", made)
    assert report.is_healthy and "weights" in report.checked and not report.unexplained
    assert str(report).startswith("GRPOTrainer: nothing found\n")


def test_the_first_sentence_says_what_where_and_what_becomes_of_the_model():
    first = str(Diagnosis.of("GRPOTrainer", sheet())).split("\n1.")[0]
    assert "a fault in the reward" in first and "no weight is damaged" in first
    made = Sheet()
    made.find("double_bos", COUNTED, "two BOS", where=EVALUATION)
    said = " ".join(str(Diagnosis.of("Trainer", made)).split())
    assert "a fault in evaluation" in said and "only what is measured of it is wrong" in said


def test_where_a_cause_is_seen_decides_what_becomes_of_the_model():
    assert verdict_of("double_bos", SERVING).harm == SOUND
    assert verdict_of("double_bos", EVALUATION).harm == MEASURED
    assert "train again" in verdict_of("double_bos").harm


def test_every_line_is_one_item_and_fits():
    report = Diagnosis.of("GRPOTrainer", sheet())
    lines = str(report).split("\n")
    assert max(map(len, lines)) <= WIDTH
    assert lines.count("checked and fine:") == 1
    assert "  weights: 50 tensors, all finite" in lines
    assert "   > '4'" in lines


def test_what_no_cause_accounts_for_is_said():
    made = sheet()
    made.odd += [Odd("a", frozenset({"no_signal"})), Odd("b", frozenset({"rate_zero"}))]
    report = Diagnosis.of("GRPOTrainer", made)
    assert report.unexplained == ("b",)
    assert "not explained by this:\n  b" in str(report)


def test_only_what_is_not_measured_sends_the_reader_to_look_next():
    made = Sheet()
    made.find("rate_unusual", LIKELY, "learning_rate 0.5")
    assert "look next:" in str(Diagnosis.of("Trainer", made))
    assert "look next:" not in str(Diagnosis.of("GRPOTrainer", sheet()))


def test_the_data_of_a_report_holds_all_that_its_text_does():
    report = Diagnosis.of("GRPOTrainer", sheet())
    data = report.to_dict()
    assert set(BESIDE.values()) <= set(data)
    cause = data["causes"][0]
    assert cause["where"] == "the reward" and cause["consequences"] and cause["specimen"] == ["'4'"]
