"""Lesson 04's formulas are those of the real verl, 0.2.0.post2 and 0.9.1.

Each version goes into a throw-away folder with `pip install --no-deps`, and only core_algos.py is
used. `make test` leaves what fetches packages to `make prove`.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from whole import IS_WHOLE

from course_utils.reproductions.lesson_04 import verl_formulas as ours

pytestmark = pytest.mark.skipif(not IS_WHOLE, reason="fetches packages: `make prove` does it")
KINDS = ("kl", "abs", "mse", "low_var_kl")
UNREACHABLE = ("from versions: none", "Connection", "Temporary failure", "timed out")
SCRIPT = Path(__file__).parents[1] / "helpers" / "verl_reference.py"


def install(version: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    command += ["--ignore-requires-python"]  # 0.9.1 declares below 3.13, and only a file is read
    command += ["--retries", "1", "--timeout", "15", "--target", str(folder), f"verl=={version}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and any(word in done.stderr for word in UNREACHABLE):
        pytest.skip(f"the package index cannot be reached: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def inputs(*, everything: bool) -> dict:
    torch.manual_seed(0)
    # Log-ratios from -30 to 200, so that both formats are left, and each side of every bound met.
    ratios = torch.linspace(-30, 200, 48).view(6, 8).round(decimals=2)
    logprob = -torch.rand(6, 8) * 5
    mask = (torch.arange(8) < torch.tensor([[8], [3], [1], [5], [8], [2]])).long()
    return {
        "kinds": KINDS if everything else ("low_var_kl",),
        "all": everything,
        "mask": mask,
        "logprob": logprob,
        "ref": logprob + ratios,
        "old": logprob + torch.randn(6, 8),
        "advantages": torch.randn(6, 8),
        "values": torch.randn(6, 8),
        "index": [0, 0, 0, 1, 1, 1],
        "logits": torch.randn(6, 8, 11),
        "rewards": torch.rand(6, 8) * mask,
    }


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A function of the version that gives its inputs and what verl made of them."""
    known = {}

    def run(version: str) -> tuple[dict, dict]:
        if version not in known:
            folder = tmp_path_factory.mktemp("verl")
            install(version, folder)
            given = inputs(everything=version.startswith("0.2"))
            torch.save(given, folder / "inputs.pt")
            files = [str(folder / name) for name in ("", "inputs.pt", "outputs.pt")]
            done = subprocess.run(
                [sys.executable, str(SCRIPT), *files], capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            known[version] = given, torch.load(folder / "outputs.pt")
        return known[version]

    return run


def assert_same(got, want) -> None:
    for mine, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(mine, theirs, equal_nan=True)


def value_and_gradient(formula, given: dict, dtype: torch.dtype, kind: str):
    logprob = given["logprob"].to(dtype, copy=True).requires_grad_()
    value = formula(logprob, given["ref"].to(dtype), kind)
    value.float().sum().backward()
    return value.detach(), logprob.grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("kind", KINDS)
def test_our_kl_penalty_is_that_of_0_2_forward_and_backward(real, kind, dtype):
    given, theirs = real("0.2.0.post2")
    assert_same(value_and_gradient(ours.kl_penalty, given, dtype, kind), theirs[f"{kind} {dtype}"])


def test_the_other_formulas_are_those_of_0_2(real):
    given, theirs = real("0.2.0.post2")
    mask = given["mask"]
    args = given["old"], given["logprob"], given["advantages"], mask, 0.2
    assert_same([ours.masked_mean(given["values"], mask)], [theirs["mean"]])
    assert_same(ours.compute_policy_loss(*args), theirs["policy"])
    assert_same([ours.entropy_from_logits(given["logits"])], [theirs["entropy"]])
    assert_same([ours.grpo_advantage(given["rewards"], mask, n=3)], [theirs["advantage"]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_bound_of_0_4_1_still_stands_in_0_9_1(real, dtype):
    given, theirs = real("0.9.1")
    got = value_and_gradient(ours.kl_penalty_0_4_1, given, dtype, "low_var_kl")
    assert_same(got, theirs[f"low_var_kl {dtype}"])


@pytest.mark.parametrize(
    ("version", "dtype", "has_nan"),
    [
        ("0.2.0.post2", torch.float32, True),
        ("0.2.0.post2", torch.float16, True),
        ("0.9.1", torch.float32, False),
        ("0.9.1", torch.float16, True),
    ],
)
def test_which_version_gives_a_nan_gradient_below_a_finite_value(real, version, dtype, has_nan):
    value, gradient = real(version)[1][f"low_var_kl {dtype}"]
    assert value.isfinite().all()
    assert bool(gradient.isnan().any()) is has_nan
