"""The bisection finds the smallest sets of settings that fail, whatever they are."""

import itertools
import os
import time

import matplotlib.pyplot as plt
import pytest

from course_utils.diagnostics.processes.bisect import bisect_config, ddmin
from course_utils.diagnostics.processes.bisect_probe import Probe
from course_utils.diagnostics.processes.bisect_tree import parents
from course_utils.diagnostics.processes.traps import divide_integers_by_zero
from course_utils.errors import BadRequest, DidNotFail

NAMES = ("bf16", "lr", "beta2", "decay", "warmup", "schedule", "batch", "steps", "gens", "norm")
WORKS = dict.fromkeys(NAMES, "default") | {"seed": 0}
DIES = dict.fromkeys(NAMES, "reported") | {"seed": 0, "extra": True}


def on(config):
    return {name for name in NAMES if config[name] == "reported"}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ddmin_finds_every_interaction_of_one_to_three_settings(size):
    for culprits in itertools.combinations(NAMES, size):
        assert ddmin(NAMES, lambda subset, c=set(culprits): c <= set(subset)) == culprits


def test_ddmin_returns_a_minimal_set_when_several_would_fail():
    def fails(subset):
        return {"bf16", "lr"} <= set(subset) or {"norm"} <= set(subset) or len(subset) > 6

    found = ddmin(NAMES, fails)
    assert fails(found)
    assert not any(fails(tuple(s for s in found if s != left_out)) for left_out in found)


def test_ddmin_gets_past_unresolved_mixtures():
    def fails(subset):  # any set that holds only one of these two cannot be built at all
        resolved = ("batch" in subset) == ("gens" in subset)
        return resolved and "bf16" in subset

    assert ddmin(NAMES, fails) == ("bf16",)


def test_one_setting_that_kills_is_found_in_real_children():
    def train(config):
        if config["bf16"] == "reported":
            divide_integers_by_zero()

    found = bisect_config(WORKS, DIES, train)
    assert (found.failure, found.causes) == ("SIGFPE", (("bf16",),))
    assert found.headline == "SIGFPE needs 1 of 11 settings: bf16='reported'"
    assert found.probes[0].outcome == "lived" and found.probes[1].outcome == "SIGFPE"


def test_a_pair_that_only_fails_together_is_named_as_a_pair():
    def train(config):
        if on(config) >= {"lr", "gens"}:
            divide_integers_by_zero()

    found = bisect_config(WORKS, DIES, train)
    assert found.causes == (("lr", "gens"),)
    assert "2 of 11 settings together" in found.headline


def test_two_independent_causes_are_both_found():
    def train(config):
        if "bf16" in on(config) or on(config) >= {"lr", "norm"}:
            os.abort()

    found = bisect_config(WORKS, DIES, train)
    assert set(found.causes) == {("bf16",), ("lr", "norm")}
    assert "2 causes" in found.headline


def test_another_failure_is_shown_and_not_followed():
    def train(config):
        if ("batch" in on(config)) != ("gens" in on(config)):
            raise ValueError("batch is not divisible by generations")
        if "norm" in on(config):
            divide_integers_by_zero()

    found = bisect_config(WORKS, DIES, train)
    assert found.causes == (("norm",),)
    assert "ValueError" in {probe.outcome for probe in found.probes}


def test_a_setting_that_only_one_configuration_has_can_be_the_cause():
    def only_absent(config):
        assert "extra" not in config

    def only_present(config):
        assert "extra" in config

    assert bisect_config(WORKS, DIES, only_absent).headline.endswith("extra=True")
    assert bisect_config(DIES, WORKS, only_present).headline.endswith("extra=(not set)")


def test_a_hang_is_a_failure_like_any_other():
    def train(config):
        time.sleep(600 if config["steps"] == "reported" else 0)

    two = {name: DIES[name] for name in ("steps", "lr")}
    found = bisect_config({name: WORKS[name] for name in two}, two, train, timeout_s=0.5)
    assert (found.failure, found.causes) == ("time limit", (("steps",),))


def test_configurations_that_are_not_as_claimed_are_refused():
    def train(config):
        assert config["lr"] == "default"

    with pytest.raises(BadRequest, match=r"does not work: .*AssertionError"):
        bisect_config(DIES, WORKS, train)
    with pytest.raises(DidNotFail, match="lives, with 1 different"):
        bisect_config(WORKS, WORKS | {"seed": 1}, train)
    with pytest.raises(DidNotFail, match="equals the other"):
        bisect_config(WORKS, WORKS, train)


def test_ten_probes_with_torch_imported_take_seconds():
    def train(config):
        import torch

        torch.ones(8, 8) @ torch.ones(8, 8)
        if on(config) >= {"lr", "gens"}:
            divide_integers_by_zero()

    started = time.monotonic()
    found = bisect_config(WORKS, DIES, train, preload=["torch"])
    assert len(found.probes) >= 10
    assert time.monotonic() - started < 30  # torch alone takes two seconds to import, each time


def test_the_table_and_the_figure_show_every_probe():
    def train(config):
        assert "bf16" not in on(config)

    found = bisect_config(WORKS, DIES, train)
    fig, ax = plt.subplots()
    found.draw(ax)
    words = [text.get_text() for text in ax.texts]
    assert words[1::2] == [probe.outcome for probe in found.probes]
    num = len(found.probes)
    assert [word.split(":")[0] for word in words[::2]] == [str(n + 1) for n in range(num)]
    assert len(ax.patches) == num * 11 and len(ax.lines) == num - 1  # fields, and branches
    assert len(found.table().rows) == len(found.probes) and "all 11" in found.text()
    plt.close(fig)


def test_a_probe_hangs_on_the_smallest_set_that_died_and_holds_it():
    sets = ["", "abcd", "ab", "cd", "c", "d", "bcd"]
    outcomes = ["lived", "SIGFPE", "lived", "SIGFPE", "ValueError", "lived", "lived"]
    probes = [Probe(tuple(names), ended) for names, ended in zip(sets, outcomes, strict=True)]
    assert parents(probes, "SIGFPE") == [1, None, 1, 1, 3, 3, 1]


@pytest.mark.parametrize(
    ("request_", "way_out"),
    [(({"a": 1}, {"a": 2}, None), "train and not train"), ((object(), {}, print), "give dicts")],
)
def test_a_wrong_call_explains_the_right_one(request_, way_out):
    with pytest.raises(BadRequest) as refusal:
        bisect_config(*request_)
    assert way_out in refusal.value.fix
