"""Operations that go wrong, and what they do to the process: each is tried in its own child.

Floats and torch's integers are torch's, on the CPU; the C integers are the processor's. Only what
does the same on every x86-64 is here: a cast of 1e6 to float16 raises a flag on some of them only.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import torch

from course_utils.diagnostics import warm_children
from course_utils.diagnostics.processes.traps import (
    divide_integers_by_zero,
    float_flags,
    unmask_float_traps,
)
from course_utils.errors import Unsupported
from course_utils.reproductions.lesson_02.grpo_sigfpe import is_sigfpe
from course_utils.shown.report import Table

N = 16  # numbers in a tensor: enough for a vector kernel

FLOAT_FAULTS: dict[str, Callable[[], torch.Tensor]] = {
    "0.0 / 0.0": lambda: torch.zeros(N) / torch.zeros(N),
    "1.0 / 0.0": lambda: torch.ones(N) / torch.zeros(N),
    "1e30 ** 2 in float32": lambda: torch.full((N,), 1e30).square(),
    "6e4 + 6e4 in float16": lambda: torch.full((N,), 6e4).half() + torch.full((N,), 6e4).half(),
    "exp(90) in float32": lambda: torch.full((N,), 90.0).exp(),
    "log(0.0)": lambda: torch.zeros(N).log(),
}
INTEGER_FAULTS: dict[str, Callable[[], object]] = {
    "1 // 0, torch integers": lambda: (
        torch.ones(N, dtype=torch.int) // torch.zeros_like(torch.ones(N, dtype=torch.int))
    ),
    "1 / 0, C integers": divide_integers_by_zero,
}
FAULTS = FLOAT_FAULTS | INTEGER_FAULTS
WORDS = {"lived": "lives", "Unsupported": "no traps here"}


@dataclass(frozen=True)
class Fates:
    """The effect of each fault on its process, in the default state and with traps unmasked."""

    as_usual: dict[str, str]
    unmasked: dict[str, str]

    @property
    def grid(self) -> list[list[str]]:
        return [[self.as_usual[fault], self.unmasked[fault]] for fault in self.as_usual]


def fates() -> Fates:
    """Try every fault twice, each time in a child: "lives", "SIGFPE" or "exception"."""
    with warm_children(preload=["torch"]) as in_child:

        def tried(fault: str, *, unmasked: bool) -> str:
            found = in_child(_attempt, fault, unmasked)
            return "SIGFPE" if is_sigfpe(found) else WORDS.get(found.outcome, "exception")

        return Fates(
            {fault: tried(fault, unmasked=False) for fault in FAULTS},
            {fault: tried(fault, unmasked=True) for fault in FAULTS},
        )


def _attempt(fault: str, unmasked: bool) -> None:
    operation = FAULTS[fault]
    with unmask_float_traps() if unmasked else nullcontext():
        operation()


def results_table() -> Table:
    """What each float fault returns, and the flag it leaves; "-" where no flag is left."""
    rows = [(fault, *_result(operation)) for fault, operation in FLOAT_FAULTS.items()]
    return Table(columns=("operation", "result", "flag in the processor"), rows=rows)


def _result(operation: Callable[[], torch.Tensor]) -> tuple[str, str]:
    try:
        with float_flags() as flags:
            result = operation()
    except Unsupported:
        return str(operation()[0].item()), "not readable here"
    return str(result[0].item()), ", ".join(sorted(flags)) or "-"
