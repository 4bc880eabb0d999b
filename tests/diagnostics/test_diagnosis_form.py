"""The form of a report: measured and probable causes differ, and nothing reassures wrongly."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from course_utils.causes.harms import SERVING
from course_utils.diagnostics.diagnosis.judges.steps import judge_steps
from course_utils.diagnostics.diagnosis.looks.batch import look_at_batch
from course_utils.diagnostics.diagnosis.looks.forward import look_at_forward
from course_utils.diagnostics.diagnosis.looks.settings import look_at_settings
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.sheet import harm
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.steps import StepNumbers, Steps


def report_of(sheet: Sheet) -> Diagnosis:
    return Diagnosis.of("Trainer", sheet)


def text_of(sheet: Sheet) -> str:
    """On one line."""
    return " ".join(str(report_of(sheet)).split())


def sheet_with(key: str, *said: str, weight: float = COUNTED, **more) -> Sheet:
    sheet = Sheet()
    sheet.find(key, weight, *(said or ("8 of 8 rows have it",)), **more)
    return sheet


def test_a_cause_alone_is_no_measured_harm():
    said = text_of(sheet_with("end_masked"))
    assert "no damage was measured" in said
    assert "replies that end before the limit would show it" in said
    assert "train again" not in said.split("keep the model")[0]


def test_measured_harm_is_said_with_its_number_and_what_to_do():
    sheet = sheet_with("end_masked")
    sheet.became(harm.ENDLESS, "0% of the replies end")
    first = report_of(sheet).causes[0]
    assert first.harm.number == "0% of the replies end" and "train again" in first.harm.says
    assert report_of(sheet).to_dict()["causes"][0]["harm_measured"] == "0% of the replies end"


def test_replies_that_end_are_no_harm_of_an_end_without_a_label():
    sheet = sheet_with("end_masked")
    sheet.became(harm.ENDING, "100% of the replies end")
    assert "no harm is seen" in report_of(sheet).causes[0].harm.says


@pytest.mark.parametrize(
    ("outcome", "then"), [(harm.NOT_FINITE, "go back"), (harm.FINITE, "no weight is damaged")]
)
def test_weights_are_damaged_where_they_end_so(outcome, then):
    sheet = sheet_with("fp16_overflow")
    sheet.became(outcome, "of 50 tensors")
    assert then in report_of(sheet).causes[0].harm.says


def test_weights_that_were_finite_before_the_run_are_not_called_finite_after_it():
    sheet = sheet_with("collapse")
    sheet.clear("weights", "50 tensors, all finite")
    sheet.became(harm.NOT_FINITE, "50 of 50 weight tensors end with nan or inf")
    report = report_of(sheet)
    assert "weights" not in report.checked
    assert report.shown["weights before the run"] == "50 tensors, all finite"


def test_before_the_first_step_there_is_no_harm():
    sheet = sheet_with("pad_is_eos")
    sheet.became(harm.NOT_BEGUN, "no step was taken")
    assert "no step was taken yet: fix it before the run" in text_of(sheet)


def test_what_is_not_sure_says_probably_and_what_would_tell():
    said = text_of(sheet_with("rate_unusual", "learning_rate 0.5", weight=LIKELY))
    assert "Probably the learning rate" in said and "Check first: " in said
    assert "robably" not in text_of(sheet_with("rate_zero"))


def test_a_measured_fact_with_two_mechanisms_names_the_look_that_tells_them_apart():
    sheet = sheet_with("nan_gradient", weight=MEASURED, rivals="the loss, or a layer; watch tells")
    assert "Possible reasons: the loss, or a layer; watch tells." in text_of(sheet)


def test_what_a_log_shows_of_several_causes_is_probable_until_the_replies_were_seen():
    sheet = Sheet()
    sheet.find("no_signal", 7.5, "frac_reward_zero_std 1", is_of_log=True)
    assert "Probably all replies" in text_of(sheet)
    sheet.hint("no_signal", "the replies are one text", "temperature=0.01 -> 1", "8 x '4'")
    assert "The replies are one text." in text_of(sheet)
    assert report_of(sheet).fix == "temperature=0.01 -> 1"


def test_a_usual_number_follows_from_no_cause():
    sheet = sheet_with("end_masked")
    sheet.show("replies that end", "100% in the first generate call", usual=True)
    assert not report_of(sheet).causes[0].follows
    sheet.usual.clear()
    sheet.show("replies that end", "0% in the first generate call")
    assert dict(report_of(sheet).causes[0].follows)


def test_a_fact_stands_once():
    twice = ("16 of 17 tensors have no gradient", "such as model.layers.0.self_attn.weight")
    place = "model.layers.*.self_attn.weight"
    sheet = sheet_with("weight_without_gradient", *twice, "16 of 17 never had one", place=place)
    sheet.find("engines_disagree", 3.0, "16 of 17")
    assert report_of(sheet).causes[0].said == twice[:1]
    assert report_of(sheet).causes[1].said == ("the numbers above",)


@pytest.mark.parametrize(("weight", "num_causes"), [(COUNTED, 1), (MEASURED, 2)])
def test_a_trend_of_the_log_is_not_said_beside_what_was_counted(weight, num_causes):
    sheet = sheet_with("pairs_inverted", weight=weight)
    sheet.find("overfits", 6.5, "the evaluation loss rises", is_of_log=True)
    assert len(report_of(sheet).causes) == num_causes


def test_a_number_of_the_harm_is_no_consequence_as_well():
    sheet = sheet_with("rounding_swallows", weight=MEASURED)
    sheet.became(harm.STOOD, "weights that move: 0.266% in a step")
    sheet.show("weights that move", "0.266% in a step")
    assert str(report_of(sheet)).count("0.266%") == 1


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("labels_masked", "tokens"),
        ("schedule_ends_early", "learning rate"),
        ("reward_pays_junk", "reward correct_sum"),
        ("nan_gradient", "weights"),
        ("no_signal", "sampling"),
        ("split_changes_loss", "the log"),
    ],
)
def test_what_is_about_the_broken_thing_is_not_called_fine(key, name):
    sheet = sheet_with(key)
    sheet.clear(name, "as it should be (fine: up to 3)")
    sheet.clear("tied embeddings", "one tensor")
    report = report_of(sheet)
    assert list(report.checked) == ["tied embeddings"]
    assert "fine:" not in report.shown[name]


def test_a_falling_loss_calms_about_serving_and_not_about_training():
    for where, num_kept in (("", 0), (SERVING, 1)):
        sheet = sheet_with("template_differs", where=where)
        other = sheet_with("improves", "the loss falls: 6.6, 2.9, 2.1")
        sheet.healthy += other.found
        assert len(report_of(sheet).no_faults) == num_kept


@pytest.mark.parametrize(
    ("key", "values", "fix"),
    [
        ("rate_too_high", {"learning_rate": 0.003}, "learning_rate=0.003 -> 0.0003"),
        ("rate_unusual", {"learning_rate": 0.05}, "learning_rate=0.05 -> 5e-05"),
        ("fp16_overflow", {"fp16": True}, "fp16=True -> False, bf16=False -> True"),
        ("tiny_std", {"scale_rewards": "group"}, "scale_rewards=group -> none"),
        ("nan_gradient", {"n": 1}, "n=1 -> 8: the std of one reward is nan"),
        ("entropy_runs", {"entropy_coeff": 10}, "entropy_coeff=10 -> 0"),
        ("unused_parameters", {}, "freeze it"),
    ],
)
def test_a_fix_is_one_and_has_the_values_of_the_run(key, values, fix):
    sheet = sheet_with(key)
    sheet.values |= values
    assert report_of(sheet).fix == fix


def test_the_fix_of_cut_replies_says_how_many_are_cut():
    sheet = sheet_with("replies_cut", "clipped_ratio 0.9")
    sheet.values["max_completion_length"] = 16
    sheet.became(harm.ENDLESS, "95% of the last replies are cut at 16 tokens")
    fix = "max_completion_length=16 -> 64: 95% of the last replies are cut at 16 tokens"
    assert report_of(sheet).fix == fix


# --- looks that called fine what is not -------------------------------------------------------


class Nan(nn.Linear):
    """A model whose logits are not finite."""

    def forward(self, input_ids, attention_mask=None):
        return (torch.full((*input_ids.shape, 4), float("nan")),)


def test_logits_that_are_nan_agree_with_nothing():
    batch = {"input_ids": torch.ones(2, 3, dtype=torch.long)}
    batch["attention_mask"] = torch.tensor([[1, 1, 1], [1, 1, 0]])
    sheet = Sheet()
    look_at_forward(Subject(model=Nan(2, 2), batch=batch), sheet)
    assert "rows alone" not in sheet.cleared and "not finite" in sheet.unseen["rows alone"]


@pytest.mark.parametrize(("schedule", "is_used"), [("constant", False), ("linear", True)])
def test_a_constant_schedule_has_no_warm_up(schedule, is_used):
    args = SimpleNamespace(
        learning_rate=1e-4, max_steps=12, lr_scheduler_type=schedule, get_warmup_steps=lambda _: 4
    )
    trainer = SimpleNamespace(args=args, model=None, eval_dataset=None)
    sheet = Sheet()
    look_at_settings(Subject(model=nn.Linear(2, 2), trainer=trainer), sheet)
    assert ("4 of 12 steps of warm-up" in sheet.cleared["learning rate"]) == is_used
    assert ("warm-up" in sheet.shown) != is_used


def test_a_clipped_gradient_is_shown_as_it_was_before():
    model = nn.Linear(2, 2)
    one = StepNumbers(1, 1e-3, 1.0, 0, 0, 2, 1.0, 0.01, norm=37.0, clipped_to=1.0)
    steps = Steps(model, numbers=[one])
    sheet = Sheet()
    judge_steps(Subject(model=model, log=[{"grad_norm": 37.0}]), steps, sheet, num_counted=1)
    assert "37 -> 1 by clipping" in sheet.cleared["gradients"]


def test_steps_that_stand_in_the_log_are_not_denied():
    model = nn.Linear(2, 2)
    sheet = Sheet()
    judge_steps(Subject(model=model, log=[{"loss": 1.0}] * 3), Steps(model), sheet)
    assert sheet.unseen["steps"] == "the log has 3, and none was taken in this process"


# --- sentences that a measurement refutes -----------------------------------------------------


def test_a_log_does_not_say_that_nothing_moves_where_the_weights_do():
    sheet = Sheet()
    sheet.find("nothing_moves", 5.0, "the loss stays", is_of_log=True)
    sheet.find("policy_is_reference", 4.0, "kl 0 in every entry", is_of_log=True)
    keys = [one.key for one in report_of(sheet).causes]
    assert keys == ["nothing_moves", "policy_is_reference"]
    sheet.clear("weights that move", "100% in a step; 0 of 50 tensors never did")
    [one] = report_of(sheet).causes
    assert "does not move" not in one.says and "the reference moves along" in one.says


@pytest.mark.parametrize(("format_of", "is_said"), [("float32", False), ("float16", True)])
def test_weights_in_float32_are_not_to_be_loaded_in_float32(format_of, is_said):
    sheet = sheet_with("half_weights")
    sheet.values["weights_format"] = format_of
    assert ("load the weights in float32" in report_of(sheet).fix) == is_said


def test_the_fix_of_an_instrument_is_whole():
    sheet = sheet_with("fp16_overflow", advice="train in bfloat16, or keep this module in float32")
    sheet.values["weights_format"] = "float32"
    assert report_of(sheet).fix == "train in bfloat16, or keep this module in float32"


def test_a_norm_that_no_clipping_explains_is_not_said_to_be_clipped():
    model = nn.Linear(2, 2)
    steps = Steps(model, numbers=[StepNumbers(1, 1e-3, 1e-5, 0, 0, 2, 1.0, 0.01)])
    trainer = SimpleNamespace(args=SimpleNamespace(max_grad_norm=1.0), state=None)
    subject = Subject(model=model, trainer=trainer, log=[{"grad_norm": 2e5}])
    sheet = Sheet()
    judge_steps(subject, steps, sheet, num_counted=1)
    assert sheet.cleared["gradients"].endswith("2e+05 in the log, 1e-05 as the optimizer gets it")


def test_an_empty_data_set_and_max_length_are_one_finding():
    args = SimpleNamespace(max_length=8)
    trainer = SimpleNamespace(args=args, train_dataset=[])
    sheet = Sheet()
    look_at_batch(Subject(model=nn.Linear(2, 2), trainer=trainer), sheet)
    found = report_of(sheet).causes[0]
    assert found.key == "no_samples" and "max_length=8" in found.place and "raise" in found.fix


class CausalLMOfMine(nn.Module):
    """A language model whose class transformers does not list."""


def test_label_smoothing_is_named_where_it_moves_no_labels():
    args = SimpleNamespace(label_smoothing_factor=0.1)
    trainer = SimpleNamespace(args=args, eval_dataset=None, model=None)
    sheet = Sheet()
    look_at_settings(Subject(model=CausalLMOfMine(), trainer=trainer), sheet)
    found = report_of(sheet).causes[0]
    assert found.key == "labels_shifted" and found.place == "label_smoothing_factor"
