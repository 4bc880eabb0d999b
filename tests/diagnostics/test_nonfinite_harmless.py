"""Whatever happens inside the watch, the run goes on bit for bit as without it."""

import gc
import re
import weakref
from itertools import product
from operator import itemgetter

import pytest
import torch
from faults.harmless import RUNS, TwoLayers
from whole import cases

from course_utils.diagnostics import nonfinite, watch
from course_utils.diagnostics.nonfinite import (
    clipping,
    coverage,
    crashes,
    origins,
    reading,
    recording,
    replay,
    report,
    rows,
    scaling,
    state,
    step,
    targets,
    tracer,
    untouched,
    watching,
)
from course_utils.shown.report import Table

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # old APIs inside trl warn
    pytest.mark.timeout(120),
]
OF_TIME = re.compile("time|per_second|runtime")
MATRIX = []  # rows of the table that the last test prints


def result_of(trainer, watched: bool) -> dict:
    """All that a run leaves behind: weights, random numbers, log, state of the scaler."""
    if watched:
        with watch(trainer, then=lambda _report: None) as seen:
            trainer.train()
    else:
        seen = None
        trainer.train()
    logs = [
        {name: value for name, value in log.items() if not OF_TIME.search(name)}
        for log in trainer.state.log_history
    ]
    return {
        "weights": {k: v.clone() for k, v in trainer.model.state_dict().items()},
        "random": torch.get_rng_state(),
        "logs": logs,
        "calls": getattr(trainer, "calls", None),
        "scale": trainer.accelerator.scaler.get_scale(),
        "seen": seen,
    }


def assert_same(bare: dict, seen: dict) -> None:
    for name, weight in bare["weights"].items():
        assert torch.equal(weight, seen["weights"][name]), name
    assert torch.equal(bare["random"], seen["random"])
    assert (bare["calls"], bare["scale"]) == (seen["calls"], seen["scale"])
    assert str(bare["logs"]) == str(seen["logs"])


def run(name: str, watched: bool) -> dict:
    torch.manual_seed(0)
    trainer = RUNS[name]()
    torch.manual_seed(1)
    return result_of(trainer, watched)


@pytest.mark.parametrize("name", RUNS)
def test_a_watched_run_equals_the_bare_one_bit_for_bit_and_the_fault_is_named(name):
    bare, seen = run(name, watched=False), run(name, watched=True)
    assert_same(bare, seen)
    assert all(weight.isfinite().all() for weight in seen["weights"].values())
    found = seen["seen"].report
    assert found.found and found.step == 2, found.text()
    assert found.operation == "div" and "sqrt" in found.line, found.text()
    MATRIX.append((name, "-", "same bits", found.kind))


INTERNALS = [
    (recording.Pass, "begin"),
    (recording.Recorder, "begin"),
    (recording.Recorder, "finish"),
    (recording.Recorder, "take"),
    (recording, "loss_in"),
    (replay, "keep"),
    (replay, "judge"),
    (replay, "try_rows"),
    (replay, "rows_of"),
    (replay, "make_report"),
    (replay, "set_gradients_aside"),
    (reading, "replay"),
    (reading, "is_bad"),
    (reading, "undisturbed"),
    (reading, "measure"),
    (reading, "all_finite"),
    (reading, "find_places"),
    (reading.Reader, "enter"),
    (reading.Reader, "read"),
    (reading.Reader, "after_step"),
    (reading.Reader, "parameters_of"),
    (state.Surroundings, "now"),
    (state.Surroundings, "put_back"),
    (state.Surroundings, "again"),
    (state.Surroundings, "autocast"),
    (step, "find_blame"),
    (targets, "untouched"),
    (targets.Target, "undisturbed"),
    (untouched, "_ways_back"),
    (untouched, "_contents_back"),
    (tracer, "look"),
    (tracer, "read_signature"),
    (tracer, "find_places"),
    (tracer.Tracer, "_find_site"),
    (tracer.Tracer, "_record"),
    (origins.Origins, "event_of"),
    (rows, "num_rows"),
    (report, "find_cause"),
    (scaling.Scaling, "is_suspicious"),
    (coverage.Coverage, "note"),
    (clipping.Clipping, "listening"),
    (crashes, "explain"),
    (watching.Watch, "_read_step"),
    (nonfinite.NonFiniteReport, "text"),
]
REPLAYED = [(reading, "replay"), (step, "find_blame"), (replay.Pass, "again")]
BARE = {}  # results of bare runs, by the name of the run


def name_of(part) -> str:
    return part if isinstance(part, str) else part.__name__.rpartition(".")[2]


def test_every_internal_that_is_made_to_raise_is_there():
    assert [one for one in INTERNALS if not hasattr(*one)] == []


def fail(*_args, **_kwargs):
    raise ZeroDivisionError("planted")


def assert_unharmed(run_name: str, owner, name: str, monkeypatch) -> str:
    bare = BARE.setdefault(run_name, run(run_name, watched=False))
    monkeypatch.setattr(owner, name, fail)
    seen = run(run_name, watched=True)
    monkeypatch.undo()
    assert_same(bare, seen)
    return seen["seen"].report.text()


@pytest.mark.parametrize(("owner", "name"), cases(INTERNALS, itemgetter(0)), ids=name_of)
def test_each_internal_call_may_raise_and_the_run_is_the_same(owner, name, monkeypatch):
    said = assert_unharmed("batch popped", owner, name, monkeypatch)
    is_noted = "ZeroDivisionError: planted" in said or "could not be traced" in said
    internal = f"{name_of(owner)}.{name} raises"
    MATRIX.append((internal, "batch popped", "same bits", "said" if is_noted else "not reached"))


@pytest.mark.parametrize(
    ("run_name", "replayed"),
    cases(product(["SFT", "DPO", "Reward", "GRPO"], REPLAYED), itemgetter(0)),
)
def test_a_failing_replay_never_reaches_trl(run_name, replayed, monkeypatch):
    said = assert_unharmed(run_name, *replayed, monkeypatch)
    assert "is not finite" in said and "ZeroDivisionError: planted" in said
    MATRIX.append((f"{replayed[1]} raises", run_name, "same bits", "said"))


def test_the_matrix_of_the_tests_above_is_printed(capsys):
    if len(MATRIX) < len(RUNS) + len(INTERNALS):
        pytest.skip("the table is made by the other tests of this file")
    columns = ("what happens inside", "run", "weights, random numbers, log", "the report")
    with capsys.disabled():
        print("\n" + Table(columns, MATRIX, title="Never harm").text())
    assert {row[2] for row in MATRIX} == {"same bits"}


def loop(num_steps: int, optimizer_of, *, keeps: list) -> watching.Watch:
    model = TwoLayers()
    optimizer = optimizer_of(model)
    with watch(model, then=lambda _report: None) as seen:
        for _ in range(num_steps):
            ids = torch.randint(1, 32, (2, 6))
            seen(input_ids=ids, labels=ids)["loss"].backward()
            keeps += [weakref.ref(one.surroundings) for one in seen._recorder.passes[-1:]]
            optimizer.step()
            optimizer.zero_grad()
    return seen


STRANGER = torch.nn.Linear(1, 1)


@pytest.mark.parametrize(
    "optimizer_of",
    [
        lambda model: torch.optim.SGD(model.parameters(), lr=0.1),
        lambda _model: torch.optim.SGD(STRANGER.parameters(), lr=0.1),
    ],
    ids=["own", "holds none of the weights"],
)
def test_a_thousand_watched_steps_keep_the_memory_of_one(optimizer_of):
    keeps = []
    seen = loop(1000, optimizer_of, keeps=keeps)
    gc.collect()
    assert len(keeps) == 1000 and sum(ref() is not None for ref in keeps) <= 1
    assert not seen.report.found


def test_without_any_optimizer_a_window_of_passes_is_kept_and_no_more():
    model = TwoLayers()
    with watch(model, lambda ids: model(ids, ids)["loss"], then=lambda _report: None) as seen:
        for _ in range(200):
            seen(torch.randint(1, 32, (2, 6))).backward()
            assert len(seen._recorder.passes) < recording.MAX_PASSES
    assert "no optimizer stepped" in seen.report.text()


def test_hooks_that_step_inside_backward_are_never_run_twice():
    model, steps = TwoLayers(), []
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step_at_once(parameter):
        steps.append(parameter)
        optimizers[parameter].step()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step_at_once)
    ids = torch.ones(1, 2, dtype=torch.long)
    with watch(model, then=lambda _report: None) as seen:
        loss = seen(ids, ids)["loss"] * float("nan")
        loss.backward()
    assert len(steps) == len(list(model.parameters()))
    assert "would run twice" in seen.report.text()


def test_what_then_raises_is_the_users_way_to_end_a_run():
    def stop(report):
        raise KeyboardInterrupt(report.step)

    model = TwoLayers()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(KeyboardInterrupt), watch(model, then=stop) as seen:
        ids = torch.ones(1, 2, dtype=torch.long)
        (seen(ids, ids)["loss"] * float("nan")).backward()
        optimizer.step()
