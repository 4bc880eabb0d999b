"""Looks at what an evaluation does: nan in the metric that chooses, memory, shards."""

import pytest
import torch
from diagnosed_runs import sft
from test_diagnose_learnt import classifier, rows
from transformers import trainer_pt_utils
from transformers.trainer_utils import IntervalStrategy

from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.looks.best import look_at_best_after
from course_utils.diagnostics.diagnosis.looks.settings import look_at_settings
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import of_trainer

NAN = float("nan")


@pytest.mark.parametrize(
    ("metric", "values", "loss", "is_wrong"),
    [
        ("eval_loss", [NAN, NAN], 1.0, True),
        ("loss", [1.0, NAN], 1.0, True),
        ("loss", [1.0, 0.9], 1.0, False),
        (None, [NAN, NAN], 1.0, False),  # no checkpoint is chosen by it
        ("loss", [NAN, NAN], NAN, False),  # the training itself is nan
    ],
)
def test_a_metric_that_is_nan_while_training_is_finite_chooses_no_checkpoint(
    tmp_path, metric, values, loss, is_wrong
):
    settings = {} if metric is None else dict(metric_for_best_model=metric)
    subject, sheet = of_trainer(classifier(tmp_path, rows(8), **settings)), Sheet()
    subject.log = [{"loss": loss}, *({"eval_loss": value} for value in values)]
    look_at_best_after(subject, sheet)
    assert [one.key for one in sheet.found] == ["nan_metric"] * is_wrong
    assert not is_wrong or sheet.found[0].verdict.where == "evaluation"


@pytest.mark.parametrize("place", ["evaluation", "training"])
def test_memory_that_ends_while_predictions_are_collected_has_another_fix(
    tmp_path, monkeypatch, place
):
    trainer = classifier(tmp_path, rows(8)[:8])
    trainer.eval_dataset, trainer.args.eval_steps = rows(8)[8:], 1  # no row is in both
    trainer.args.eval_strategy = IntervalStrategy.STEPS
    trainer.compute_metrics = lambda _: {}

    def full(*_args, **_kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    if place == "evaluation":
        monkeypatch.setattr(trainer_pt_utils, "torch_pad_and_concatenate", full)
        trainer.args.per_device_eval_batch_size = 2
    else:
        trainer.training_step = full
    with pytest.raises(torch.OutOfMemoryError), diagnose.watching(trainer) as run:
        trainer.train()
    first = run.report.causes[0]
    assert first.key == "cuda_memory" and first.verdict.where == place
    assert ("preprocess_logits_for_metrics" in first.fix) == (place == "evaluation")


@pytest.mark.parametrize(("num_rows", "is_wrong"), [(64, False), (2**12, True)])
def test_logits_that_an_evaluation_keeps_are_named_where_they_outgrow_the_weights(
    num_rows, is_wrong
):
    subject, sheet = of_trainer(sft()), Sheet()
    subject.trainer.eval_dataset = range(num_rows)
    subject.trainer.compute_metrics = lambda _: {}
    look_at_settings(subject, sheet)
    assert [one.key for one in sheet.found] == ["memory_by_logits"] * is_wrong
    assert is_wrong or "MiB" in sheet.cleared["what an evaluation keeps"]


def test_shards_of_weights_are_not_called_finite(tmp_path):
    trainer = classifier(tmp_path, rows(8))
    for p in trainer.model.parameters():
        p.ds_shape, p.data = p.shape, torch.empty(0)
    report = diagnose(trainer)
    assert "ZeRO-3" in report.unseen["weights"] and "weights" not in report.checked
    assert not report.causes and not report.to_dict()["nothing_found"]
