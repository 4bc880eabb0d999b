"""Two real processes on gloo: the rank that goes bad is named, its step replayed in one process.

The processes are forked, so that none of them imports torch again.
"""

import json
import sys
from contextlib import nullcontext

import pytest
import torch
from two_ranks import dpo, loops

from course_utils.diagnostics import watch
from course_utils.diagnostics.ranks import read_ranks, replay_rank, watch_ranks, watching
from course_utils.diagnostics.ranks.folder import Record
from course_utils.diagnostics.ranks.own_gradient import OwnGradient
from course_utils.errors import BadRequest
from course_utils.reproductions.two_processes import in_two_processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="gloo")


def launch(main, folder):
    assert in_two_processes(lambda _rank: main(folder) or [], timeout_s=200) == [[], []]
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every loop of loops.py, run once."""
    return launch(loops.main, tmp_path_factory.mktemp("loops"))


@pytest.fixture(scope="module")
def dpo_run(tmp_path_factory):
    """A DPO training of trl whose second rank goes bad in step 2."""
    return launch(dpo.main, tmp_path_factory.mktemp("dpo"))


def ended(runs, name):
    return [json.loads((runs / f"ended{rank}.json").read_text())[name] for rank in (0, 1)]


def replayed(runs, name):
    model, report = loops.make_model(), read_ranks(runs / name)
    return replay_rank(runs / name / report.first.dump, model, loops.deep_loss(model))


@pytest.mark.parametrize(("size", "name"), [(1, "Watch"), (2, "RankWatch")])
def test_watch_is_one_word_for_one_process_and_for_several(monkeypatch, size, name):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: size > 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: size)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 0)
    assert type(watch(loops.make_model())).__name__ == name


def test_a_dpo_training_whose_second_rank_goes_bad_is_explained(dpo_run):
    report = read_ranks(dpo_run)
    print(report)
    first = report.first
    assert (first.rank, first.step, first.micro_batch, first.what) == (1, 2, 1, "loss")
    assert report.headline.startswith("Rank 1 went bad first, at step 2, micro-batch 1")
    assert report.records[0].what == "another rank" and not report.records[0].dump
    assert report.cause == "rank 1's batch: completion_mask: every number of row 1 is 0"
    assert "\nfix: " in report.text() and first.dump in report.fix
    assert [record.state for record in report.records] == ["ended", "ended"]  # the run went on


def test_diagnose_says_which_rank_went_bad_first(tmp_path):
    launch(dpo.diagnosed, tmp_path)
    for rank in (0, 1):
        said = json.loads((tmp_path / f"diagnosis{rank}.json").read_text())
        print(said["text"])
        assert said["causes"][0]["place"] == "rank 1, step 2, micro-batch 1"
        assert "completion_mask: every number of row 1 is 0" in said["causes"][0]["cause"]


def test_the_step_of_the_dpo_training_replays_in_one_process_to_the_line_and_the_row(dpo_run):
    trainer = dpo.build()
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    found = replay_rank(dpo_run / read_ranks(dpo_run).first.dump, trainer)
    print(found)
    assert found.is_same and found.finding.operation == "div" and found.doubts == ()
    assert "per_token.sum(1) / mask.sum(1)" in found.finding.line
    assert found.odd == ("completion_mask: every number of row 1 is 0",)
    after = trainer.model.state_dict()
    assert all(value.equal(before[name]) for name, value in after.items())


@pytest.mark.parametrize("kind", ["", "sharded "])
def test_watching_changes_no_bit_of_the_weights(runs, kind):
    for bare, watched in zip(
        ended(runs, f"{kind}bare"), ended(runs, f"{kind}healthy"), strict=True
    ):
        assert watched["weights"] == bare["weights"]
    report = read_ranks(runs / f"{kind}healthy")
    assert not report.found and f"{loops.STEPS} steps on 2 of 2 ranks" in report.headline
    assert "Not looked at: the weights" in " ".join(report.text().split())


@pytest.mark.parametrize("name", ["backward", "hook taken", "sharded backward"])
def test_a_fault_of_the_backward_pass_alone_is_one_ranks_own(runs, name):
    report = read_ranks(runs / name)
    assert (report.first.rank, report.first.step) == (1, loops.BAD_STEP)
    assert report.first.what == "gradient" and len(report.guilty) == 1
    assert ("another communication hook" in report.first.how) is (name == "hook taken")


@pytest.mark.parametrize("name", ["backward", "sharded backward"])
def test_a_fault_of_the_backward_pass_is_replayed_from_the_dump(runs, name):
    found = replayed(runs, name)
    assert found.is_same and found.finding.operation == "div" and "sqrt" in found.headline


def test_with_accumulation_the_micro_batch_is_named(runs):
    report = read_ranks(runs / "accumulation")
    assert (report.first.rank, report.first.micro_batch) == (1, 1)
    assert replayed(runs, "accumulation").finding.phase == "already in the input"


def test_a_watch_that_breaks_neither_ends_nor_changes_the_run(runs):
    for bare, broken in zip(ended(runs, "bare"), ended(runs, "broken watch"), strict=True):
        assert broken["weights"] == bare["weights"]
    report = read_ranks(runs / "broken watch")
    assert report.headline.startswith("Nothing was examined") and "rank 1" in report.headline
    assert "rank 1: the watch stopped: _look: ZeroDivisionError" in report.text()


def records(folder, *described):
    for rank, facts in enumerate(described):
        if facts is not None:
            Record(rank, len(described), **facts).write(folder)
    return read_ranks(folder)


FINE = {"state": "ended", "num_steps": 4}
SUMMED = {"state": "ended", "num_steps": 4, "step": 4, "what": "another rank"}


def test_a_sum_that_overflows_is_told_from_a_rank_that_left_no_word(tmp_path):
    assert "the sum of all" in records(tmp_path / "sum", SUMMED, SUMMED).headline
    silent = records(tmp_path / "silent", SUMMED, None)
    assert silent.silent == [1] and "rank 1 left no word" in silent.headline


def test_a_run_that_nobody_looked_at_or_that_has_not_ended_gets_no_all_clear(tmp_path):
    unseen = records(tmp_path / "unseen", FINE, {"state": "ended"})
    assert unseen.headline == "Nothing was examined: no loss with a graph came by on rank 1."
    facts = {"state": "ended", "num_losses": 4}
    assert "no optimizer step was seen" in records(tmp_path / "none", FINE, facts).headline
    killed = records(tmp_path / "killed", FINE, {"num_steps": 4})
    assert killed.headline.endswith("Rank 1 has not ended.")
    with pytest.raises(BadRequest, match="no record of any rank"):
        read_ranks(tmp_path / "absent")


def train_one(folder, *, watched, loss_scale=1.0, optimizer_of=None):
    """Three steps of a model with dropout; the weights, and the watch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW((optimizer_of or model).parameters())
    loss_of = lambda x: model(x).sum() * loss_scale  # noqa: E731
    watch = watch_ranks(model, loss_of, folder=folder, then=lambda report: None)
    with watch if watched else nullcontext():
        for _ in range(3):
            (watch if watched else loss_of)(torch.ones(2, 4)).backward()
            optimizer.step()
            optimizer.zero_grad()
    return [parameter.detach() for parameter in model.parameters()], watch


INTERNAL = [
    (watching, "keep"),
    (watching, "loss_in"),
    (watching, "measure"),
    (watching, "odd_rows"),
    (watching, "write_dump"),
    (watching, "bad_weights"),
    (watching, "read_ranks"),
    (watching, "optimizers"),
    (Record, "write"),
    (watching.RankWatch, "_look"),
    (watching.RankWatch, "_found"),
    (OwnGradient, "attach"),
    (OwnGradient, "take"),
]


@pytest.mark.parametrize("scale", [1.0, float("nan")], ids=["healthy", "sick"])
@pytest.mark.parametrize(("owner", "name"), INTERNAL, ids=[name for _, name in INTERNAL])
def test_whatever_raises_inside_the_watch_the_run_goes_on_as_without_it(
    owner, name, scale, tmp_path, monkeypatch
):
    bare, _ = train_one(tmp_path, watched=False, loss_scale=scale)
    monkeypatch.setattr(owner, name, lambda *args, **kwargs: 1 / 0)
    weights, watch = train_one(tmp_path, watched=True, loss_scale=scale)
    for ours, theirs in zip(weights, bare, strict=True):
        assert torch.equal(ours, theirs) or (ours.isnan().all() and theirs.isnan().all())
    only_if_found = ("odd_rows", "write_dump", "bad_weights", "read_ranks", "_found")
    if scale != 1.0 or name not in only_if_found:
        assert "Error" in watch.record.problem


def test_a_look_that_raises_within_backward_does_not_end_it(monkeypatch):
    monkeypatch.setattr("course_utils.diagnostics.ranks.own_gradient.largest", lambda g: 1 / 0)
    own, x = OwnGradient(), torch.ones(2, requires_grad=True)
    x.register_hook(own.look)
    x.sum().backward()
    assert x.grad.equal(torch.ones(2)) and "ZeroDivisionError" in own.problem


def test_an_optimizer_of_another_model_is_a_finding_and_fills_no_memory(tmp_path):
    _, watch = train_one(tmp_path, watched=True, optimizer_of=torch.nn.Linear(1, 1))
    assert "holds none of the model's parameters on rank 0" in watch.report.headline
    assert watch.record.num_foreign == 0 or watch._kept == []


def test_weights_that_were_bad_before_the_step_are_not_blamed_on_the_batch(tmp_path):
    model = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(model.weight, float("inf"))
    loss_of = lambda x: model(x).sum()  # noqa: E731
    with watch_ranks(model, loss_of, folder=tmp_path, then=lambda report: None) as watch:
        watch(torch.ones(1, 2)).backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert watch.report.first.what == "weights before the step"
    assert "weight first) were bad before the step" in watch.report.cause


def test_a_scalers_search_is_no_fault_until_it_has_gone_on_too_long(tmp_path):
    model = torch.nn.Linear(2, 1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    loss_of = lambda x: (model(x) * 1e3).sum()  # noqa: E731
    settings = {"folder": tmp_path, "scaler": scaler, "then": lambda report: None}
    with watch_ranks(model, loss_of, **settings) as watch:
        for step in range(1, 19):
            scaler.scale(watch(torch.ones(1, 2))).backward()
            scaler.step(optimizer)
            scaler.update(2.0**127)
            optimizer.zero_grad()
            assert watch.report.found is (step > 16)


@pytest.mark.parametrize(
    "pops", [dict.clear, lambda x: x.pop("input"), lambda x: x.update(input=None)]
)
def test_a_loss_that_empties_its_batch_is_replayed_all_the_same(tmp_path, pops):
    model = torch.nn.Linear(2, 1)

    def loss_of(x):
        values = x["input"]
        pops(x)
        return model(values).log().sum()

    with watch_ranks(model, loss_of, folder=tmp_path, then=lambda report: None) as watch:
        watch({"input": torch.tensor([[float("nan"), 1.0]])}).backward()
        torch.optim.SGD(model.parameters(), lr=0.0).step()
    found = replay_rank(tmp_path / watch.report.first.dump, model, loss_of)
    assert found.finding.phase == "already in the input" and "row 0" in found.odd[0]


def test_wrong_calls_say_what_would_be_right(tmp_path):
    with pytest.raises(BadRequest, match="neither a Trainer nor a model"):
        watch_ranks(lambda x: x)
    with pytest.raises(BadRequest, match="there is no dump"):
        replay_rank(tmp_path / "absent.pt", torch.nn.Linear(1, 1))
