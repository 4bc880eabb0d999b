"""What a schedule was made for: its number of steps, its warm-up, the rate that it leads to."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch.optim import lr_scheduler as schedules

LENGTHS = ("total_steps", "T_max", "total_iters")
STEPS, WARM_UP = "num_training_steps", "num_warmup_steps"  # of the functions of transformers


@dataclass(frozen=True)
class Plan:
    """A schedule's own numbers; 0 for what it does not say."""

    name: str
    length: int
    warm_up: int
    peak: float
    ticks: int  # how often it was stepped
    ends_at_nothing: bool = False  # whether the rate stays 0 behind its length
    turns: bool = False  # whether it begins anew behind its length


def plan_of(schedule: Any) -> Plan | None:
    """The plan of a schedule of torch or transformers; None for one of another kind."""
    inner = getattr(schedule, "scheduler", schedule)  # accelerate wraps it
    if not isinstance(inner, schedules.LRScheduler):
        return None
    if isinstance(inner, schedules.ReduceLROnPlateau | schedules.CosineAnnealingWarmRestarts):
        return None
    length = next((int(v) for name in LENGTHS if (v := getattr(inner, name, None))), 0)
    said = _keywords(inner)
    groups = inner.optimizer.param_groups
    peaks = [float(g.get("max_lr", g.get("initial_lr", g["lr"])) or 0) for g in groups]
    return Plan(
        name=type(inner).__name__,
        length=length or said.get(STEPS, 0),
        warm_up=said.get(WARM_UP, 0),
        peak=max(peaks, default=0.0),
        ticks=int(inner.last_epoch),
        ends_at_nothing=_ends_at_nothing(inner, length or said.get(STEPS, 0)),
        turns=isinstance(inner, schedules.CosineAnnealingLR),
    )


def _ends_at_nothing(schedule: Any, length: int) -> bool:
    if isinstance(schedule, schedules.LinearLR):
        return schedule.end_factor == 0
    if isinstance(schedule, schedules.LambdaLR):
        return all(of(length) == 0 == of(length + 1) for of in schedule.lr_lambdas)
    return isinstance(schedule, schedules.PolynomialLR)


def _keywords(schedule: Any) -> dict[str, int]:
    """The numbers that were given to a function of transformers, such as linear with warm-up."""
    found: dict[str, int] = {}
    for of in getattr(schedule, "lr_lambdas", ()):
        if isinstance(of, partial):
            found |= {k: int(v) for k, v in of.keywords.items() if isinstance(v, int | float)}
    return found
