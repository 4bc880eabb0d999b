"""Under a launcher: how each rank ended, and which rank waited for which. About 25 s of CPU."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from course_utils.diagnostics import Autopsy, run_in_child
from course_utils.diagnostics.processes.launcher import Rank, launcher_at
from course_utils.diagnostics.processes.memory import PeakMemory
from course_utils.diagnostics.processes.rank_ends import rank_end

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="gloo, SIGSTOP and /proc")

SCRIPT = Path(__file__).parents[1] / "helpers" / "two_ranks" / "endings.py"
BIN = Path(sys.executable).parent


def torchrun(*argv):
    return [BIN / "torchrun", "--standalone", "--nproc-per-node", "2", *argv]


def left_running(script):
    commands = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
    return [command for command in commands if str(script) in command]


def test_a_rank_that_never_enters_the_collective_is_named_with_its_line():
    autopsy = run_in_child(torchrun(SCRIPT, "late"), timeout_s=15)
    waits, late = autopsy.ranks
    assert autopsy.timed_out and waits.waits == "waits for the others in all_reduce"
    assert late.waits == "" and late.stack[0].function == "data_that_never_comes"
    assert "rank 1 never came: it was in endings.py" in autopsy.headline
    assert [rank.last_line for rank in autopsy.ranks] == ["step 1", "step 1"]
    assert "cause: rank 1 did not enter the collective" in autopsy.text()
    assert "\nfix: make endings.py" in autopsy.text()
    assert late.peak_memory > 2**26 and "GiB" in autopsy.text()
    assert left_running(SCRIPT) == []  # also not what a rank started in a session of its own


def stuck(number, function, line):
    """A rank that was asked for its stack while it waited in a collective."""
    stack = f"""Fatal Python error: Aborted

Current thread 0x00007f (most recent call first):
  File "/lib/torch/distributed/distributed_c10d.py", line 3252 in {function}
  File "/home/me/train.py", line {line} in main
"""
    memory = PeakMemory(os.getpid())
    return rank_end(Rank(number, number, 1, memory, was_running=True, stderr=stack), None)


def test_ranks_in_different_collectives_are_told_apart():
    ranks = (stuck(0, "barrier", 36), stuck(1, "all_reduce", 23))
    autopsy = Autopsy(-9, True, "", "", 15, ranks=ranks)
    assert {rank.waits.split()[-1] for rank in autopsy.ranks} == {"barrier", "all_reduce"}
    assert "every rank waits" in autopsy.headline and "if rank == 0" in autopsy.text()
    same = Autopsy(-9, True, "", "", 15, ranks=(stuck(0, "barrier", 9), stuck(1, "barrier", 9)))
    assert "if rank == 0" not in same.text() and "fix:" in same.text()


def test_the_rank_that_crashed_is_told_from_the_one_that_was_ended_for_it():
    module = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    autopsy = run_in_child([*module, "--nproc-per-node", "2", SCRIPT, "crashes"], timeout_s=60)
    ended, crashed = autopsy.ranks
    assert (crashed.signal_name, crashed.is_first) == ("SIGSEGV", True) and not ended.is_first
    assert autopsy.headline.startswith("rank 1 of 2 stopped first: died of SIGSEGV in endings.py")
    assert "cause: native code touched memory" in autopsy.text() and not autopsy.timed_out


def test_an_exception_under_accelerate_is_named_with_its_rank_and_line():
    launch = [BIN / "accelerate", "launch", "--multi_gpu", "--num_processes", "2"]
    autopsy = run_in_child([*launch, "--main_process_port", "0", SCRIPT, "raises"], timeout_s=60)
    first = autopsy.ranks[1]
    assert first.is_first and first.exception == "ValueError: batch 4 of rank 1 is empty"
    assert "in main" in first.place and "ValueError" in autopsy.headline
    assert autopsy.to_dict()["ranks"][1]["exception"] == first.exception


@pytest.mark.parametrize(
    ("command", "at"),
    [
        ("torchrun --nproc-per-node 2 train.py", 1),
        ("accelerate launch train.py", 2),
        ("python -u -m torch.distributed.run train.py", 4),
        ("python train.py torchrun", None),
        ("accelerate config", None),
    ],
)
def test_a_launcher_is_known_by_its_name(command, at):
    assert launcher_at(command.split()) == at


def test_the_users_own_log_folder_is_left_alone(tmp_path):
    (tmp_path / "torchrun").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "torchrun").chmod(0o755)
    kept = run_in_child([tmp_path / "torchrun", "--log-dir", "own", "train.py"])
    ours = run_in_child([tmp_path / "torchrun", "train.py"])
    assert kept.stdout.split() == ["--log-dir", "own", "train.py"]
    assert ours.stdout.split()[:3] == ["--tee", "3", "--log_dir"]
    assert kept.headline == "the child ended with exit code 0"
