"""A process that is killed: for memory where the log speaks of it, or by nobody that it names."""

import pytest

from tests.helpers.explained import first

RUN = [f"step {n} loss {1.9 - n / 1000:.4f} lr 1e-05 grad_norm 0.8" for n in range(100, 600, 100)]
KILLED = "RuntimeError: worker 2 died: Signal 9 (SIGKILL) received by PID 771"


def test_a_run_that_is_killed_without_a_word_of_memory_is_not_blamed_on_memory():
    one = first(*RUN, KILLED, "the GPUs were at 60 of 80 GB")
    assert one.key == "killed_from_outside" and "scheduler" in one.open
    assert "by whom" in one.says and "fewer processes" not in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (*RUN, "kernel: oom-kill: task=python", KILLED),
        (*RUN, KILLED, "the node has 256 GB of RAM"),
        ("cpu_offload: true", *RUN, KILLED),
        (KILLED, "that is all"),
    ],
)
def test_what_speaks_of_the_machines_memory_or_of_no_run_keeps_the_likeliest(lines):
    assert first(*lines).key == "killed_for_memory"


@pytest.mark.parametrize("setting", ["offload_params: false", "zero3_no_offload.json"])
def test_an_offload_that_is_off_speaks_of_no_memory(setting):
    assert first(setting, *RUN, KILLED).key == "killed_from_outside"


def test_a_sender_that_is_spoken_of_is_quoted():
    one = first(*RUN, "slurmstepd: CANCELLED DUE TO TIME LIMIT", KILLED)
    assert one.key == "killed_from_outside" and "by whom" not in one.says
    assert any("TIME LIMIT" in row for row in one.for_it)
