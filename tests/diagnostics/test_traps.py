"""What trips an unmasked float trap, what slips through, and what is left as it was."""

import ctypes
import math
import platform
import sys

import pytest
import torch

from course_utils.diagnostics.processes import float_traps
from course_utils.diagnostics.processes.autopsy import warm_children
from course_utils.diagnostics.processes.float_traps import float_flags, unmask_float_traps
from course_utils.errors import Unsupported

HAS_TRAPS = (sys.platform, platform.machine(), platform.libc_ver()[0]) == (
    "linux",
    "x86_64",
    "glibc",
)
needs_traps = pytest.mark.skipif(not HAS_TRAPS, reason="float traps are glibc's, on x86-64")

INF, NAN = math.inf, math.nan
TRAPPED = {  # operation: the one trap that catches it
    "0/0": ("invalid", lambda: torch.zeros(16) / torch.zeros(16)),
    "inf * 0": ("invalid", lambda: torch.tensor([INF] * 16) * torch.zeros(16)),
    "a nan compared": ("invalid", lambda: NAN < 1.0),
    "1/0": ("divide", lambda: torch.ones(16) / torch.zeros(16)),
    "fp32 overflow": ("overflow", lambda: torch.full((16,), 1e30).square()),
    "fp16 sum": ("overflow", lambda: torch.full((16,), 6e4).half() + torch.full((16,), 6e4).half()),
}
MISSED = {
    "exp": lambda: torch.full((16,), 90.0).exp(),
    "exp of one": lambda: torch.tensor(90.0).exp(),
    "log of 0": lambda: torch.zeros(16).log(),
    "log of -1": lambda: (-torch.ones(16)).log(),
    "sqrt of -1": lambda: (-torch.ones(16)).sqrt(),
}
LOGITS = torch.linspace(-3, 3, 320).repeat(4, 1)
LEGITIMATE_MASK = torch.tensor([[0.0, 1.0, 2.0, -INF, -INF, -INF, -INF, -INF]])


def masked_softmax():
    assert LEGITIMATE_MASK.softmax(-1).isfinite().all()


def healthy_softmax():
    torch.linspace(-3, 3, 64).softmax(-1)


def trapped(operation, **chosen):
    with unmask_float_traps(**chosen):
        operation()


@pytest.fixture(scope="module")
def run():
    with warm_children(preload=["torch"]) as run:
        yield run


@needs_traps
@pytest.mark.parametrize("name", TRAPPED)
def test_a_float_fault_dies_at_its_line_and_only_under_its_own_trap(run, name):
    trap, operation = TRAPPED[name]
    only, others = ({t: (t == trap) == on for t in float_traps.FLAGS} for on in (True, False))
    autopsy = run(lambda: trapped(operation, **only))
    assert autopsy.signal_name == "SIGFPE" and autopsy.stack[0].file == "test_traps.py"
    assert run(lambda: trapped(operation, **others)).outcome == "lived"


@needs_traps
@pytest.mark.parametrize("name", MISSED)
def test_the_documented_blind_spot_is_real(run, name):
    operation = MISSED[name]
    assert not operation().isfinite().any()
    assert run(lambda: trapped(operation)).outcome == "lived"


@needs_traps
def test_the_documented_false_alarm_is_real_and_goes_without_vector_kernels(run):
    assert run(lambda: trapped(healthy_softmax)).outcome == "lived"
    vectorised = torch.backends.cpu.get_cpu_capability() != "DEFAULT"
    expected = "SIGFPE" if vectorised else "lived"
    assert run(lambda: trapped(masked_softmax)).outcome == expected
    with warm_children(preload=["torch"], env={"ATEN_CPU_CAPABILITY": "default"}) as run_scalar:
        assert run_scalar(lambda: trapped(masked_softmax)).outcome == "lived"
        assert run_scalar(lambda: trapped(TRAPPED["0/0"][1])).signal_name == "SIGFPE"


def good_log_softmax():
    assert LOGITS.log_softmax(-1).isfinite().all()


def good_logsumexp():
    assert (LOGITS - LOGITS.logsumexp(-1, keepdim=True)).isfinite().all()


@needs_traps
@pytest.mark.parametrize("kernels", ["default", None])
def test_log_softmax_cries_wolf_with_scalar_kernels_and_logsumexp_with_none(kernels):
    env = {"ATEN_CPU_CAPABILITY": kernels} if kernels else {}
    with warm_children(preload=["torch"], env=env) as run:
        if kernels:
            assert run(lambda: trapped(good_log_softmax)).signal_name == "SIGFPE"
        assert run(lambda: trapped(good_logsumexp)).outcome == "lived"


@needs_traps
def test_traps_nest_and_leave_masks_and_flags_as_they_were():
    libm = ctypes.CDLL("libm.so.6")
    before = libm.fegetexcept()
    with unmask_float_traps():
        outer = libm.fegetexcept()
        with unmask_float_traps(invalid=False, overflow=False):
            assert libm.fegetexcept() == float_traps.FLAGS["divide"]
        assert libm.fegetexcept() == outer == sum(float_traps.FLAGS.values())
    assert libm.fegetexcept() == before


@needs_traps
def test_an_exception_inside_the_block_masks_the_traps_again():
    with pytest.raises(KeyError), unmask_float_traps():
        raise KeyError
    assert math.isnan(math.inf - math.inf)  # would end the tests


@needs_traps
@pytest.mark.parametrize("name", TRAPPED)
def test_flags_name_the_fault_without_interrupting(name):
    flag, operation = TRAPPED[name]
    with float_flags() as flags:
        operation()
    assert flag in flags


@needs_traps
def test_flags_are_cleared_for_the_block_and_kept_for_a_surrounding_one():
    with float_flags() as outer:
        with float_flags() as first:
            _ = math.inf - math.inf
        with float_flags() as second:
            _ = 1.0 + 1.0
    assert (first, second) == ({"invalid"}, set()) and "invalid" in outer


@pytest.mark.parametrize(
    ("system", "machine", "libc"),
    [("darwin", "arm64", ""), ("linux", "aarch64", "glibc"), ("linux", "x86_64", "")],
)
def test_elsewhere_it_is_refused_by_name(monkeypatch, system, machine, libc):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "libc_ver", lambda: (libc, ""))
    with pytest.raises(Unsupported, match=f"float traps on {system}, {machine}"):
        trapped(healthy_softmax)
