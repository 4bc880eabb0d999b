"""The ordinary runs are healthy by their own lights: they train, and they get better."""

from math import isfinite

import pytest
from ordinary import ORDINARY
from whole import cases

# Nothing here is about warnings: TRL's experimental trainers and PEFT's notes would end the run.
pytestmark = pytest.mark.filterwarnings("ignore")

NUM_ENDS = 3  # logged values at each end that are averaged


def ends_of(values: list[float]) -> tuple[float, float]:
    """The mean of the first values, and of the last."""
    return sum(values[:NUM_ENDS]) / NUM_ENDS, sum(values[-NUM_ENDS:]) / NUM_ENDS


@pytest.mark.parametrize(
    "run", cases(ORDINARY.values(), kind=lambda run: run.module), ids=lambda run: run.name
)
def test_an_ordinary_run_trains_and_gets_better(run, tmp_path):
    log = run.train(run.make(tmp_path / "run"))
    losses = [row["loss"] for row in log if "loss" in row]
    norms = [row["grad_norm"] for row in log if "grad_norm" in row]
    assert len(losses) >= 2 * NUM_ENDS
    assert all(isfinite(value) for value in losses + norms)
    assert max(norms) > 0
    first, last = ends_of([row[run.rises or "loss"] for row in log if (run.rises or "loss") in row])
    assert last > first if run.rises else last < first


def test_there_are_many_ordinary_runs_of_every_library():
    assert len(ORDINARY) >= 60
    sources = {run.source.split()[0] for run in ORDINARY.values()}
    assert {"transformers", "trl", "peft"} <= sources
