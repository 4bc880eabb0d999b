"""A replay is exact, leaves no trace, and says so when it cannot be exact. About 2 s."""

import json
import random
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from course_utils.diagnostics import trace_step, watch
from course_utils.errors import BadRequest

SILENT = {"then": lambda _report: None}
NUM_ROWS = 6
LOSSES = []  # a global: a replay puts back what the loss function encloses


class Restless(nn.Module):
    """Draws from three generators, changes two kinds of buffers, and may break on demand."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
        self.head = nn.Linear(8, 1)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        noise = torch.randn(()) + random.random()
        return self.head(self.body(x)).mean() * noise + self.calls


@pytest.fixture
def restless():
    torch.manual_seed(0)
    random.seed(0)
    return Restless()


def broken(loss, model):
    """The same loss to the last bit, with a gradient that is not finite."""
    return loss + (model.head.bias * 0).sqrt().sum()


def run_until_broken(model, loss_of, *, num_steps=4, micro_batches=1):
    """Other data each time; the last batch of the last step asks the loss function to break."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    num_calls = num_steps * micro_batches
    with watch(model, loss_of, **SILENT) as watched:
        for call in range(1, num_calls + 1):
            watched({"x": torch.randn(NUM_ROWS, 4), "breaks": call == num_calls}).backward()
            if call % micro_batches == 0:
                optimizer.step()
                optimizer.zero_grad()
    return watched.report


@pytest.mark.parametrize("micro_batches", [1, 3])
def test_the_replayed_losses_equal_the_recorded_ones_bit_for_bit(restless, micro_batches):
    LOSSES.clear()

    def loss_of(batch):
        loss = restless(batch["x"])
        if len(batch["x"]) == NUM_ROWS:  # not a row that is tried alone
            LOSSES.append(loss.item())
        return broken(loss, restless) if batch["breaks"] else loss

    report = run_until_broken(restless, loss_of, micro_batches=micro_batches)
    recorded, replayed = LOSSES[: 4 * micro_batches], LOSSES[4 * micro_batches :]
    assert replayed == recorded[-micro_batches:]
    assert (report.operation, report.step, report.micro_batch) == ("div", 4, micro_batches)


def test_a_loss_with_a_state_of_its_own_is_said_to_differ_and_nobody_is_blamed(restless):
    seen = []

    def loss_of(batch):
        seen.append(batch)
        loss = restless(batch["x"]) + len(seen)
        return broken(loss, restless) if batch["breaks"] else loss

    report = run_until_broken(restless, loss_of)
    assert report.found
    assert report.origin is None
    assert "The replay differed" in report.headline
    assert len(seen) == 4  # and the replay has left no trace in it


def test_a_batch_overwritten_in_place_is_replayed_from_a_private_copy(restless):
    optimizer = torch.optim.SGD(restless.parameters(), lr=1e-2)
    x = torch.randn(6, 4)
    loss_of = lambda batch: broken(restless(batch), restless)  # noqa: E731
    with watch(restless, loss_of, **SILENT) as watched:
        watched(x).backward()
        x.zero_()
        optimizer.step()
    assert (watched.report.operation, watched.report.phase) == ("div", "backward")
    assert watched.report.batch.any()


def test_a_nan_that_the_replay_does_not_show_came_after_backward(restless):
    optimizer = torch.optim.SGD(restless.parameters(), lr=1e-2)
    with watch(restless, lambda x: restless(x), **SILENT) as watched:
        watched(torch.randn(6, 4)).backward()
        restless.head.bias.grad.fill_(float("nan"))  # as a hook or a broken kernel would
        optimizer.step()
    assert "head.bias" in watched.report.headline
    assert watched.report.kind == "gradients changed after backward"


def test_watching_does_not_change_the_run():
    def train(watched_by):
        torch.manual_seed(0)
        random.seed(0)
        model = Restless()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        with watched_by(model) as loss_of:
            for _ in range(3):
                loss_of(torch.randn(6, 4)).backward()
                optimizer.step()
                optimizer.zero_grad()
        return torch.cat([p.flatten() for p in model.state_dict().values()])

    bare = train(nullcontext)
    seen = train(lambda model: watch(model, lambda x: model(x), **SILENT))
    assert torch.equal(bare, seen)


def test_tracing_leaves_model_optimizer_and_random_numbers_as_they_were(restless):
    optimizer = torch.optim.AdamW(restless.parameters(), lr=1e-2)
    restless(torch.randn(6, 4)).backward()
    kept = [p.grad.clone() for p in restless.parameters()]
    before = {k: v.clone() for k, v in restless.state_dict().items()}
    batch = torch.randn(6, 4)
    rng = torch.get_rng_state()
    trace_step(restless, batch, lambda x: restless(x), optimizer=optimizer)
    assert all(torch.equal(v, before[k]) for k, v in restless.state_dict().items())
    pairs = zip(restless.parameters(), kept, strict=True)
    assert all(torch.equal(p.grad, grad) for p, grad in pairs)
    assert not optimizer.state
    assert torch.equal(rng, torch.get_rng_state())


def test_autocast_at_the_time_of_the_step_is_part_of_the_replay():
    model = nn.Sequential(nn.Linear(2, 2, bias=False))
    nn.init.constant_(model[0].weight, 300.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, lambda x: model(x).float().sum(), **SILENT) as watched:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = watched(torch.full((1, 2), 300.0))
        loss.backward()
        optimizer.step()
    assert watched.report.dtype == torch.float16
    assert watched.report.operation == "mm"
    assert watched.report.limit == 65504


def test_a_fault_in_the_last_step_is_reported_when_the_watch_ends(restless):
    with watch(restless, lambda x: restless(x), **SILENT) as watched:
        watched(torch.full((6, 4), float("nan"))).backward()
    assert watched.report.phase == "already in the input"


def test_the_report_reads_as_text_as_html_and_as_data():
    report = trace_step(lambda x: x.log().sum(), {"x": torch.zeros(1)}["x"].requires_grad_())
    assert "log of 0 = -inf" in report.text()
    assert "<table>" in report.html()
    data = json.loads(json.dumps(report.to_dict()))
    assert data["origin"]["operation"] == "log"
    assert data["origin"]["dtype"] == "float32"


def test_without_a_loss_nan_in_the_output_counts_and_a_mask_does_not():
    scores = torch.tensor([[1.0, -1.0]])
    assert not trace_step(lambda x: x.masked_fill(x < 0, -float("inf")), scores).found
    assert trace_step(lambda x: x.sqrt(), scores).operation == "sqrt"


def test_a_target_that_gives_no_loss_is_refused():
    with pytest.raises(BadRequest, match="int is no model, function or Trainer"):
        watch(7)
