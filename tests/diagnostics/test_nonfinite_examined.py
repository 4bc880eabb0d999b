"""No instrument gives an all-clear about what it did not examine; each says how to use it. ~6 s."""

import pytest
import torch
from faults.harmless import TwoLayers, trainer
from faults.models import load, make_batch
from faults.planted import step
from faults.threads import sentences
from faults.threads import trainer as plain_trainer
from torch import nn

from course_utils.diagnostics import trace_step, watch
from course_utils.diagnostics.nonfinite.batches import KeptBatch
from course_utils.diagnostics.nonfinite.case import Case
from course_utils.diagnostics.nonfinite.causes_data import labels_ignored
from course_utils.errors import BadRequest

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")
IDS = torch.arange(1, 13).reshape(2, 6)
NAN = float("nan")


def silent(_report):
    pass


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def test_a_model_is_called_as_always_and_its_steps_are_watched():
    model = TwoLayers()
    optimizer = sgd(model)
    with watch(model, then=silent) as watched:
        for factor in (1.0, NAN):
            loss = model(IDS, labels=IDS)["loss"] * factor
            loss.backward()
            optimizer.step()
    assert watched.report.found and watched.report.step == 2


def test_the_watch_may_be_called_in_the_models_place_in_each_of_its_ways():
    model = TwoLayers()
    with watch(model, then=silent) as watched:
        batch = {"input_ids": IDS, "labels": IDS}
        outputs = [watched(**batch), watched(batch), watched(IDS, IDS), watched((IDS, IDS))]
    assert all(output["loss"].requires_grad for output in outputs)
    assert watched.seen.num_losses == 4


def test_no_step_at_all_is_not_an_all_clear_and_is_said_at_the_end(capsys):
    with watch(trainer()) as watched:
        pass
    assert not watched.report.found and not watched.report.is_clear
    said = capsys.readouterr().out
    assert "Nothing was examined: compute_loss was never called" in said
    assert said.splitlines()[-1] == "fix: call trainer.train() inside the `with` block"


def test_a_watch_that_was_never_entered_says_so_and_still_computes_the_loss():
    model = TwoLayers()
    watched = watch(model)
    with pytest.warns(UserWarning, match="with watch"):
        assert watched(IDS, IDS)["loss"].isfinite()
    assert "the watch was never entered" in repr(watched)


def test_a_loop_that_calls_the_model_past_the_watched_loss_is_told():
    model = TwoLayers()
    optimizer = sgd(model)
    with watch(model, lambda ids: model(ids, ids)["loss"], then=silent) as watched:
        (model(IDS, IDS)["loss"] * NAN).backward()
        optimizer.step()
    report = watched.report
    assert report.found and "no forward pass was recorded" in report.headline
    assert not watched.seen.num_losses and watched.seen.num_unrecorded == 1


def test_backward_that_reaches_no_weight_is_not_an_all_clear():
    model, other = TwoLayers(), nn.Parameter(torch.ones(()))
    optimizer = sgd(model)
    with watch(model, lambda _: other * 2, then=silent) as watched:
        watched(IDS).backward()
        optimizer.step()
    assert not watched.report.is_clear
    assert "backward() reached none of the weights" in watched.report.text()


def test_without_labels_trace_step_says_that_no_gradient_was_examined():
    report = trace_step(TwoLayers(), {"input_ids": IDS})
    assert not report.found and not report.is_clear
    assert "No gradient was examined: the output held no scalar loss" in report.text()


def test_a_loss_without_a_graph_is_said_to_be_one():
    model = TwoLayers()
    report = trace_step(model, IDS, lambda ids: torch.tensor(model(ids, ids)["loss"].item()))
    assert not report.is_clear and "re-wrapped" in report.cause


def test_a_model_whose_parameters_are_all_frozen_is_said_to_be_one():
    report = trace_step(TwoLayers().requires_grad_(False), (IDS, IDS))
    assert "no parameter of the model requires a gradient" in report.cause
    assert "is_trainable=True" in report.fix


def test_a_weight_that_is_nan_and_reaches_nothing_is_found_all_the_same():
    model = TwoLayers()
    nn.init.constant_(model.embed.weight[31], NAN)
    report = trace_step(model, (IDS, IDS))
    assert (report.found, report.phase, report.module) == (
        True,
        "already in the weights",
        "embed.weight",
    )
    assert "in row 31" in report.cause and "no loss or gradient" in report.headline


def test_weights_that_were_broken_on_entry_are_not_blamed_on_the_optimizer():
    model = TwoLayers()
    nn.init.constant_(model.embed.weight[31], float("inf"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with watch(model, then=silent) as watched:
        for _ in range(2):
            model(IDS, IDS)["loss"].backward()
            optimizer.step()
    assert watched.report.phase == "already in the weights"
    assert "before the first step (0 nan and 8 inf of 256, in row 31)" in watched.report.cause


class Scaled(nn.Module):
    """A language model whose loss is multiplied by a column of the batch."""

    def __init__(self):
        super().__init__()
        self.lm = TwoLayers()

    def forward(self, scale, **batch):
        return {"loss": self.lm(**batch)["loss"] * scale.mean()}


def test_the_failing_batch_is_kept_for_the_next_instrument():
    scale = torch.ones(8, 1)
    scale[3] = NAN
    made = plain_trainer(Scaled(), sentences(scale=scale))
    with watch(made, then=silent) as watched:
        made.train()
    report = watched.report
    assert isinstance(report.batch, KeptBatch) and report.rows == (1,)
    fresh = plain_trainer(Scaled(), [])
    for target in (fresh.model, fresh):
        again = trace_step(target, report.batch)
        assert (again.phase, again.module, again.rows) == ("already in the input", "scale", (1,))


def test_rows_of_a_data_set_are_collated_by_the_trainer_or_refused_in_a_sentence():
    made = plain_trainer(nn.Linear(1, 1), [])
    made.data_collator = lambda rows: {"x": torch.tensor([row["x"] for row in rows])}
    made.model.forward = lambda x: {"loss": made.model.weight.sum() * x.sum()}
    for rows in ([{"x": 1.0}, {"x": 2.0}], {"x": 1.0}):
        assert trace_step(made, rows).is_clear
    for rows in ([{"input_ids": [1, 2]}], {"input_ids": [1, 2]}):
        with pytest.raises(BadRequest, match=r"fix: pass collator\(rows\)"):
            trace_step(TwoLayers(), rows)


def test_trace_step_divides_by_the_items_of_the_whole_accumulated_batch():
    made = plain_trainer(load("tiny"), [])
    real = made.compute_loss

    def listening(*args, **kwargs):
        loss = real(*args, **kwargs)
        LOSSES.append(loss.item())
        return loss

    LOSSES.clear()
    made.compute_loss = listening
    batch = make_batch()
    assert trace_step(made, dict(batch)).is_clear
    assert trace_step(made, dict(batch), num_items_in_batch=torch.tensor(100)).is_clear
    count = int((batch["labels"][:, 1:] != -100).sum())
    assert LOSSES[1] == pytest.approx(LOSSES[0] * count / 100, rel=1e-5)


LOSSES = []  # a global: an instrument puts back what a function encloses


@pytest.mark.parametrize("instrument", ["watch", "trace_step"])
def test_a_compiled_model_is_watched_and_traced(instrument):
    model = TwoLayers()
    compiled = torch.compile(model, backend="eager")
    nn.init.constant_(model.head.bias, NAN)
    if instrument == "trace_step":
        report = trace_step(compiled, (IDS, IDS))
    else:
        optimizer = sgd(model)
        with watch(compiled, then=silent) as watched:
            compiled(IDS, IDS)["loss"].backward()
            optimizer.step()
        report = watched.report
    assert (report.phase, report.module) == ("already in the weights", "head.bias")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"attention_mask": torch.zeros(2, 6)}, "the rows are empty"),
        ({"input_ids": torch.full((2, 6), 9)}, "every token is id 9"),
        ({}, "cut to max_length=6"),
    ],
)
def test_what_ignored_all_labels_is_told_by_the_rest_of_the_batch(changes, why):
    batch = {"input_ids": IDS, "labels": torch.full((2, 6), -100)} | changes
    model = TwoLayers()
    report = trace_step(model, batch)
    assert report.kind == "labels all ignored"
    case = Case(origin=report.origin, batch=batch, max_length=6)
    assert why in labels_ignored(case).why


def test_after_the_run_the_watch_holds_no_batch_but_the_failing_one():
    planted = step(TwoLayers(), None, IDS)
    with watch(planted.model, then=silent) as watched:
        for _ in range(3):
            planted.model(IDS, IDS)["loss"].backward()
            planted.optimizer.step()
    assert watched._recorder.passes == [] and watched.report.batch is None


def test_printing_a_watch_says_what_it_has_seen():
    model = TwoLayers()
    optimizer = sgd(model)
    with watch(model, then=silent) as watched:
        model(IDS, IDS)["loss"].backward()
        optimizer.step()
    assert repr(watched) == "1 steps watched: every loss, gradient and weight was finite."
