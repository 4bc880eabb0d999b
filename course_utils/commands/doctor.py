"""`course doctor`: what this machine has, whether the course can run on it, and what to do."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import psutil
from packaging.version import Version

from course_utils.box.kind import Kind, find_kind, no_box
from course_utils.box.memory import find_counter
from course_utils.commands.pins import COURSE, differing, pins_of
from course_utils.diagnostics.processes.cublas import (
    CublasDiagnosis,
    diagnose_cublas,
    read_cublas_environment,
)
from course_utils.files.repository import find_repository
from course_utils.shown.report import Table

PYTHONS = (Version("3.11"), Version("3.14"))  # from the first, below the second
MIN_MEMORY_GIB = 3.0  # the peak that lessons are held to
MIN_DISK_GIB = 1.0
OK, NOTE, PROBLEM = "ok", "note", "problem"  # a problem stops the course, a note does not
GIB = 2**30
NUM_NAMED = 4  # packages named in one row

# The formats of the course, by their torch names. tf32 is a way to multiply float32, not a dtype.
FORMATS = ("float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")
MAX_ERROR_EPS = 4  # a product of 16 terms and one rounding stays well inside


@dataclass(frozen=True)
class Item:
    """One result of the examination."""

    name: str
    seen: str
    state: str
    to_do: str = ""


@click.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Say whether this machine can run the course, and what to do about each problem."""
    items = list(examine(find_repository().root))
    click.echo(doctor_table(items).text())
    if not any(item.name == "packages" and item.state == PROBLEM for item in items):
        click.echo(computing_formats("auto").text())
    ctx.exit(int(any(item.state == PROBLEM for item in items)))


def doctor_table(items: list[Item]) -> Table:
    rows = [(item.name, item.seen, item.state, item.to_do) for item in items]
    columns = ("item", "what is there", "state", "what to do")
    return Table(columns=columns, rows=rows, title="This machine")


def examine(root: Path) -> Iterator[Item]:
    """Every item, in the order in which problems should be fixed."""
    yield python_item(Version(platform.python_version()))
    yield system_item(platform.system(), platform.release())
    packages = packages_item((root / "requirements.lock").read_text(encoding="utf-8"))
    yield packages
    yield memory_item(psutil.virtual_memory().available / GIB)
    yield disk_item(shutil.disk_usage(root).free / GIB)
    yield box_item(find_kind())
    if packages.state != PROBLEM:
        yield cublas_item(diagnose_cublas(read_cublas_environment()))  # it starts no CUDA
        yield from _torch_items()


def python_item(version: Version) -> Item:
    first, after = PYTHONS
    if first <= version < after:
        return Item("Python", f"{version} in {sys.prefix}", OK)
    to_do = "make the environment with another Python: make PYTHON=python3.12 lab"
    return Item("Python", f"{version}, and {first} to below {after} is asked", PROBLEM, to_do)


def system_item(system: str, release: str) -> Item:
    """The operating system, and its differences.

    >>> system_item("Windows", "11").state
    'note'
    """
    if system == "Windows":
        to_do = (
            "use WSL: natively no signal, no `make` and no child that dies as on Linux, so "
            "lesson 02 and time limits inside one long call differ; the rest runs"
        )
        return Item("system", f"Windows {release}", NOTE, to_do)
    if system == "Darwin":
        to_do = "nothing: lesson 02 shows another stack, everything else is the same on the CPU"
        return Item("system", f"macOS, Darwin {release}", OK, to_do)
    kind = "WSL" if "microsoft" in release.lower() else system
    return Item("system", f"{kind} {release}", OK)


def packages_item(lock: str) -> Item:
    """The packages that lessons need, compared with the exact pins of requirements.lock.

    >>> packages_item("click==0.1").state
    'problem'
    """
    pins = pins_of(COURSE, lock)
    wrong = differing(pins)
    if not wrong:
        return Item("packages", f"the {len(pins)} of lessons, as in requirements.lock", OK)
    more = f" and {len(wrong) - NUM_NAMED} more" if len(wrong) > NUM_NAMED else ""
    to_do = f"{sys.executable} -m pip install --constraint requirements.lock '{COURSE}'"
    return Item("packages", f"{', '.join(wrong[:NUM_NAMED])}{more}", PROBLEM, to_do)


def memory_item(free_gib: float) -> Item:
    return _amount_item("free memory", free_gib, MIN_MEMORY_GIB, "close other programs")


def disk_item(free_gib: float) -> Item:
    return _amount_item("free disk", free_gib, MIN_DISK_GIB, "delete something, such as runs/")


def box_item(kind: Kind) -> Item:
    """Where `course grade` runs other people's code; one's own notebooks need no box.

    >>> box_item(Kind("none", "bubblewrap is not installed")).state
    'note'
    """
    if kind.has_walls:
        return Item("box", f"{kind.saw}; {find_counter().saw}", OK)
    to_do = "only to grade others' notebooks: " + no_box(kind).fix
    return Item("box", kind.saw, NOTE, to_do)


def _amount_item(name: str, free_gib: float, least_gib: float, to_do: str) -> Item:
    seen = f"{free_gib:.1f} GiB"
    if free_gib >= least_gib:
        return Item(name, seen, OK)
    return Item(name, f"{seen}, and {least_gib:g} GiB are needed", PROBLEM, to_do)


def _torch_items() -> Iterator[Item]:
    import torch  # takes seconds, and only these rows need it

    pinned = os.environ.get("OMP_NUM_THREADS", "not set")
    threads = f"{torch.get_num_threads()} of {os.cpu_count()}, OMP_NUM_THREADS is {pinned}"
    yield Item("threads", threads, OK, "nothing: lessons and commands use one")
    if not torch.cuda.is_available():
        yield Item("device", "CPU", OK, "nothing: no lesson needs a GPU")
        if torch.backends.mps.is_available():
            to_do = (
                "nothing: 'auto' stays on the CPU, because MPS has no float64, no gradient "
                "scaler as CUDA's, and other roundings than the stored outputs"
            )
            yield Item("MPS", "an Apple GPU, which the lessons do not take", OK, to_do)
        return
    name = torch.cuda.get_device_name()
    try:
        torch.ones(2, 2, device="cuda").matmul(torch.ones(2, 2, device="cuda")).cpu()
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        yield Item("device", f"{name}, which fails: {reason}", PROBLEM, "set DEVICE to 'cpu'")
    else:
        yield Item("device", f"{name}, CUDA {torch.version.cuda}", OK)


def cublas_item(diagnosis: CublasDiagnosis) -> Item:
    """The bf16 matrix products that end a process on some machines (lesson 02)."""
    states = {"affected": PROBLEM, "cannot tell": NOTE, "not affected": OK}
    return Item("cuBLAS", diagnosis.headline, states[diagnosis.verdict], diagnosis.fix)


def computing_formats(device: str = "auto") -> Table:
    """The number formats that the device really computes in, tried out here and now.

    Args:
        device: "auto" (CUDA when there is one), "cpu" or "cuda".

    >>> computing_formats("cpu").columns
    ('format', 'matmul', 'exp', 'largest number')
    """
    import torch  # takes seconds, and `course --help` must not wait for it

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = []
    for name in FORMATS:
        dtype = getattr(torch, name)
        small = torch.full((16, 16), 0.25, device=device).to(dtype)
        rows.append(
            (
                name,
                _tried(lambda x: x @ x, small, 16 * 0.25**2),
                _tried(torch.exp, small, 1.2840254),
                f"{torch.finfo(dtype).max:.5g}",
            )
        )
    rows.insert(1, ("tf32", _tf32_state(device), "as float32", rows[0][3]))
    columns = ("format", "matmul", "exp", "largest number")
    return Table(columns=columns, rows=rows, title=f"What this machine computes in, on {device}")


def _tried(function, values, wanted: float) -> str:
    import torch

    try:
        result = function(values)
    except (RuntimeError, NotImplementedError):  # how torch says that there is no such kernel
        return "no"
    if result.dtype != values.dtype:
        return f"no, it gives {str(result.dtype).removeprefix('torch.')}"
    error = (result.double() - wanted).abs().max().item() / wanted
    is_right = error <= MAX_ERROR_EPS * torch.finfo(values.dtype).eps
    return "yes" if is_right else f"WRONG by {error:.1%}"


def _tf32_state(device: str) -> str:
    import torch

    if device == "cpu":
        return "no, a GPU's only"
    # 1 + 2**-12 needs 12 bits behind the point: float32 has 23, tf32 has 10.
    values = torch.full((16, 16), 1 + 2**-12, device=device)
    before = torch.backends.cuda.matmul.fp32_precision
    try:
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        rounds = (values @ torch.eye(16, device=device))[0, 0].item() == 1
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
    if not rounds:
        return "no"
    return "yes, and on" if before == "tf32" else "yes, off unless asked for"
