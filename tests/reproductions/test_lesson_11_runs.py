"""Lesson 11's runs: each job fails at its own stage on five seeds, and records can be repeated."""

import time
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from whole import cases

from course_utils.reproductions.lesson_11 import (
    adapter_life,
    adapter_runs,
    deltas,
    four_bits,
    jobs,
    scaling,
    servings,
)
from course_utils.reproductions.lesson_11.adapter_runs import recorded
from course_utils.reproductions.lesson_11.grid import by_chance, onto_grid

STAGES = ("live", "reloaded", "merged", "served")
FAILS_AT = {"A": "served", "B": "merged", "C": "served", "D": "live"}
SEED = 3  # of the records that are made again


@pytest.mark.parametrize("name", jobs.JOBS)
def test_each_recorded_job_is_right_until_its_own_stage_and_wrong_from_there(name):
    first = STAGES.index(FAILS_AT[name])
    for record in recorded("four jobs")[name]:
        assert all(record[stage] > 0.9 for stage in STAGES[:first])
        assert all(record[stage] < 0.2 for stage in STAGES[first:])


@pytest.mark.parametrize("name", jobs.JOBS)
def test_the_log_of_each_recorded_job_falls(name):
    for record in recorded("four jobs")[name]:
        assert record["last"] < record["first"] / 3


class Watched(torch.nn.Module):
    """Counts forward passes that begin while another one, of any such model, is under way."""

    under_way = overlaps = 0

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, at):
        Watched.overlaps += Watched.under_way
        Watched.under_way += 1
        time.sleep(0.002)
        Watched.under_way -= 1
        return SimpleNamespace(loss=(self.weight * at).sum())


def test_no_forward_pass_of_two_trainings_overlaps_another():
    steps = [{"at": torch.ones(1)}] * 10
    fits = [partial(adapter_life.fit, Watched(), steps, rate=0.01)] * 2
    losses = adapter_life.side_by_side(fits)
    assert len(losses[0]) == 10 and Watched.overlaps == 0


@pytest.mark.parametrize("name", cases("ABC"))
def test_a_recorded_job_can_be_made_again(name):
    told, job = recorded("four jobs")[name][SEED], jobs.run(name, SEED)
    assert job.losses[0] == pytest.approx(told["first"], rel=1e-3)
    is_near = pytest.approx(told["served"], abs=0.1)
    assert adapter_life.right(servings.SERVERS[name](job), job.task) == is_near


def test_every_table_is_recorded_on_every_seed():
    for table in adapter_runs.TABLES:
        assert all(len(row) == len(adapter_runs.SEEDS) for row in recorded(table).values())


def test_no_serving_changes_the_model_that_it_is_given():
    job = jobs.run("B", 0)
    before = adapter_life.logits(job.model)
    for serve in (servings.reloaded, servings.merged, servings.serve_b):
        serve(job)
    assert (adapter_life.logits(job.model) - before).abs().max() == 0


def test_a_scale_is_put_back_also_after_an_error():
    model = jobs.run("A", 0).model
    before = adapter_life.logits(model)
    with pytest.raises(KeyError), scaling.scaled(model, 3):
        assert (adapter_life.logits(model) - before).abs().max() > 1
        raise KeyError
    assert (adapter_life.logits(model) - before).abs().max() == 0


def test_the_four_merges_differ_in_nothing_but_the_rounding():
    model = jobs.run("C", 0).model
    merges = four_bits.four_merges(model)
    assert adapter_life.logits_apart(merges["W4 + delta"], model) < 0.01
    for name, _, w4, delta in four_bits.weights_of(model):
        rounded = dict(merges["W4 + delta, onto the grid"].named_parameters())[name]
        assert (rounded - onto_grid(w4 + delta)).abs().max() < 1e-6


def test_a_change_below_half_a_step_is_lost_to_the_nearest_level_and_kept_by_chance():
    w4 = torch.randint(-6, 7, (64, 64), generator=torch.Generator().manual_seed(0)).float()
    w4[:, 0] = 7  # the largest of each block, so that a step is 1
    small = torch.full_like(w4, 0.1)
    small[:, 0] = 0
    assert (onto_grid(w4 + small) - w4).abs().max() < 1e-5
    rounded = by_chance(w4 + small)
    assert (onto_grid(rounded) - rounded).abs().max() < 1e-5
    assert (rounded - w4).sum().item() == pytest.approx(small.sum().item(), rel=0.2)


def test_the_changes_by_part_name_what_each_server_did():
    kept = {}
    for name in "AB":
        job, served = jobs.run(name, 0), servings.SERVERS[name](jobs.run(name, 0))
        found = deltas.found(adapter_life.base_model(), served)
        kept[name] = deltas.by_part(deltas.asked(job.model), found)
    assert all(has == 0 for _, has, _ in kept["A"].values())
    asked, has, _ = kept["B"]["embedding"]
    assert asked == 0 and has == pytest.approx(kept["B"]["head"][0], rel=1e-3)


def test_an_adapter_on_a_tied_head_asks_peft_to_add_to_one_tensor_twice():
    """Why ensure_weight_tying does not help there."""
    job = adapter_life.train(seed=0, **adapter_life.HEAD | {"ensure_weight_tying": True})
    found = deltas.found(adapter_life.base_model(), servings.merged(job))
    due = deltas.asked(job.model)["lm_head.weight"]
    assert (found["lm_head.weight"] - 2 * due).norm() < 1e-3 * due.norm()
