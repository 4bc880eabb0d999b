"""A report of `diagnose`: the first cause in eight lines, all else on request."""

import json
import re

from course_utils.causes import schema
from course_utils.causes.harms import EVALUATION, MEASURED, SERVING, SOUND
from course_utils.causes.schema import SCHEMA
from course_utils.diagnostics.diagnosis.looks.log import look_at_log
from course_utils.diagnostics.diagnosis.report.report import BESIDE, Diagnosis
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.unexplained import Odd
from course_utils.diagnostics.diagnosis.verdicts import verdict_of
from course_utils.explain import explain
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
    assert str(report).startswith("GRPOTrainer: nothing found\nLook next:\n")


def test_the_first_sentence_says_what_where_and_what_becomes_of_the_model():
    first = " ".join(str(Diagnosis.of("GRPOTrainer", sheet())).split())
    assert "a fault in the reward. All replies of a group" in first
    assert "Place: advantages. Evidence: all groups are alike '4' Fix: " in first
    assert "no weight is damaged" in first
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
    lines = str(report.details).split("\n")
    assert max(map(len, [*lines, *str(report).split("\n")])) <= WIDTH
    assert lines.count("checked and fine:") == 1
    assert "  weights: 50 tensors, all finite" in lines
    assert "     '4'" in lines


def test_what_no_cause_accounts_for_is_said():
    made = sheet()
    made.odd += [Odd("a", frozenset({"no_signal"})), Odd("b", frozenset({"rate_zero"}))]
    report = Diagnosis.of("GRPOTrainer", made)
    assert report.unexplained == ("b",)
    assert "Not explained by this: b." in str(report)
    assert "not explained by this:\n  b" in str(report.details)


def test_only_what_is_not_measured_sends_the_reader_to_look_next():
    made = Sheet()
    made.find("rate_unusual", LIKELY, "learning_rate 0.5")
    assert "Check first:" in str(Diagnosis.of("Trainer", made))
    assert "Check first:" not in str(Diagnosis.of("GRPOTrainer", sheet()))


def test_numbers_of_the_log_that_prove_nothing_are_looked_at_first():
    made, losses, judged = Sheet(), (0.7, 0.5, 0.3, 0.2), (0.69, 0.66, 0.9, 1.3)
    pairs = enumerate(zip(losses, judged, strict=True))
    look_at_log([{"step": 10 * n, "loss": a, "eval_loss": b} for n, (a, b) in pairs], made)
    report = Diagnosis.of("Trainer", made)
    assert not report.causes
    assert "eval_loss 0.66 at step 10 is the lowest; 1.3 at step 30" in report.look_next[0]


def test_a_cause_that_is_only_likely_is_not_said_beside_another():
    made = sheet()
    made.find("double_bos", LIKELY, "two BOS")
    report = Diagnosis.of("GRPOTrainer", made)
    assert "Also" not in str(report)
    assert "two BOS" in str(report.details)
    made.find("double_bos", COUNTED, "two BOS")
    assert str(Diagnosis.of("GRPOTrainer", made)).count("Also: ") == 1


def test_the_data_of_a_report_holds_all_that_its_text_does():
    report = Diagnosis.of("GRPOTrainer", sheet())
    data = report.to_dict()
    assert set(BESIDE.values()) <= set(data)
    cause = data["causes"][0]
    assert cause["where"] == "the reward" and cause["consequences"] and cause["specimen"] == ["'4'"]


def test_the_fix_stands_in_the_first_eight_lines_however_much_was_seen():
    made = Sheet()
    many = tuple(f"evidence {number} that is written out in full" for number in range(20))
    made.find("no_signal", COUNTED, *many, place="advantages", specimen=many)
    lines = str(Diagnosis.of("GRPOTrainer", made)).split("\n")
    assert any(line.startswith("Fix: ") for line in lines[:8]), lines
    assert str(Diagnosis.of("GRPOTrainer", made).details).count("evidence 19") == 1


def test_what_is_fine_is_folded_on_a_page_and_not_in_the_text():
    report = Diagnosis.of("GRPOTrainer", sheet())
    assert "50 tensors" not in str(report)
    shown, folded = report.html().split("<details>")
    assert "50 tensors" not in shown and "50 tensors" in folded
    assert "print(report.details)" not in shown
    title = shown.split("</b>")[0]
    assert title.endswith("so the advantages are 0 and these steps teach nothing.")


def test_a_look_that_raises_is_logged_and_leaves_no_all_clear(caplog):
    made = Sheet()
    made.clear("weights", "50 tensors, all finite")
    with made.trying("the tokens"):
        raise IndexError("no row 9\nmore")
    report = Diagnosis.of("SFTTrainer", made)
    assert not report.is_healthy and "nothing found" not in f"{report} {report.headline}"
    assert "the look at the tokens raised IndexError: no row 9" in str(report).split("\n")[0]
    assert caplog.records[0].exc_info[0] is IndexError


def test_the_data_is_json_without_nan_and_has_the_version_of_its_form():
    made = sheet()
    made.values["loss"] = float("nan")
    data = Diagnosis.of("GRPOTrainer", made).to_dict()
    assert data["schema"] == SCHEMA
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert explain("{'loss': 0.0}").to_dict()["schema"] == SCHEMA


def test_every_name_of_the_data_is_documented():
    for data in (Diagnosis.of("GRPOTrainer", sheet()).to_dict(), explain("killed").to_dict()):
        of_items = [one for name in ("causes", "findings") for one in data.get(name, [])]
        assert {f"`{name}`" for name in {*data, *of_items[0]}} <= {
            word for word in re.findall(r"`\w+`", schema.__doc__)
        }
