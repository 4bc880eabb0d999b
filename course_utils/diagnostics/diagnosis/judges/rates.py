"""Judges the learning rates that the optimizer used, and finds what changed them."""

import inspect
import math
from typing import Any

import torch

from course_utils.diagnostics.diagnosis.measures.decay import AT_ONCE, DECAYED
from course_utils.diagnostics.diagnosis.measures.schedules import judge_schedule, plans_of
from course_utils.diagnostics.diagnosis.measures.specimens import in_order
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import SHORT
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, Subject
from course_utils.diagnostics.diagnosis.watches.pace import Pace
from course_utils.diagnostics.diagnosis.watches.steps import Steps

EARLY = 0.8  # of the run: a rate of 0 before that is too early
OFTEN = 1.5  # schedule steps an optimizer step: above that it is stepped too often
OFF, MANY = 0.1, 0.3  # relative difference from the schedule, and share of steps that have it


def judge_rates(subject: Subject, steps: Steps, pace: Pace | None, sheet: Sheet) -> None:
    rates = steps.rates()
    if any(map(math.isnan, rates)):
        sheet.show("rates used", "the optimizer sets its own")
        return
    if subject.kind == LOOP:
        _decay(subject, rates, sheet)
    dead = next((i for i, rate in enumerate(rates) if rate == 0 and max(rates[i:]) == 0), None)
    specimen = (f"learning rate by step: {in_order(rates)}",)
    is_first = subject.trainer is not None and len(rates) == 1  # such as that of a warm-up
    if max(rates) == 0 and is_first:
        sheet.show("rates used", "0 in the only step that was taken")
    elif max(rates) == 0:
        said = f"the learning rate is 0 in all {len(rates)} steps"
        sheet.find("rate_zero", COUNTED, said, **_brought_back(subject, steps, pace))
    elif dead is not None and len(rates) > 4 and dead < EARLY * len(rates):
        _ends_early(dead, rates, pace, specimen, sheet)
    elif judge_schedule(
        subject,
        rates,
        plans_of(_schedules(subject, pace)),
        sheet,
        trained=[one.num_trainable for one in steps.numbers],
    ):
        return
    elif off := _not_as_asked(subject, steps, pace):
        sheet.find("rate_not_asked", MEASURED, off, place="lr_scheduler", specimen=specimen)
    else:
        is_known = subject.makes_own_schedule and len(rates) >= 5
        write = sheet.clear if is_known else sheet.show
        asked = ", as the settings ask" if is_known else ""
        write("rates used", f"{min(rates):.2g} to {max(rates):.2g}{asked}")


def _decay(subject: Subject, rates: list[float], sheet: Sheet) -> None:
    """What the decay alone takes from the weights, in a loop whose optimizer is known."""
    groups = getattr(subject.optimizer, "param_groups", ())
    decay = max((float(group.get("weight_decay", 0) or 0) for group in groups), default=0.0)
    shrunk = sum(rates) * decay
    if subject.steps_by_rate and decay * max(rates) > AT_ONCE and shrunk > DECAYED:
        said = f"weight_decay {decay:g} x the learning rates of {len(rates)} steps = {shrunk:.2g}"
        sheet.find("decay_too_strong", LIKELY, said, place="weight_decay")


def _schedules(subject: Subject, pace: Pace | None) -> list[Any]:
    """Those that were stepped; a Trainer that makes its own is held against its settings."""
    return [] if subject.makes_own_schedule or pace is None else list(pace.schedules.values())


def _brought_back(subject: Subject, steps: Steps, pace: Pace | None) -> dict[str, str]:
    """How a rate of 0 came with the loaded state of an optimizer that was made with another.

    A schedule that is stepped and stays at 0 is at its end, and came with that state.
    """
    own = getattr(subject.optimizer, "optimizer", subject.optimizer)
    made = float(getattr(own, "defaults", {}).get("lr") or 0)
    if not steps.held_state[0] or not made:
        return {}
    if pace is not None and pace.ticks:
        return {
            "place": "lr_scheduler, the state that was loaded",
            "why": f"the learning rate is 0 in every step: the optimizer was made with {made:g} "
            "and has the state of an earlier run, and the schedule was restored with it, at its "
            "end: it gives 0 at each of its steps",
            "advice": "make a new schedule after the state is loaded, for the steps of this run; "
            "or load only the weights",
        }
    return {
        "place": "optimizer.load_state_dict",
        "why": f"the learning rate is 0 in every step: the optimizer was made with {made:g} "
        "and has the state of an earlier run, whose schedule had ended at 0; load_state_dict "
        "brought that rate back",
        "advice": "set the lr of optimizer.param_groups after load_state_dict, or load only the "
        "weights",
    }


def _ends_early(
    dead: int, rates: list[float], pace: Pace | None, specimen: tuple[str, ...], sheet: Sheet
) -> None:
    """A rate that is 0 too soon: its schedule is stepped too often, or is too short."""
    why = f"the learning rate is 0 from step {dead + 1} of {len(rates)} on"
    fix = "make the schedule for the number of optimizer steps of the whole run"
    more: tuple[str, ...] = ()
    if pace is not None and pace.ticks:
        more = (
            f"an optimizer step: {pace.ticks_a_step:.2g} schedule steps (meant: 1), "
            f"{pace.passes_a_step:.2g} forward passes with a gradient",
        )
        if pace.ticks_a_step > OFTEN:
            why += f": its schedule is stepped {pace.ticks_a_step:.2g} times an optimizer step"
            fix = "step the schedule once, where the optimizer is stepped"
        else:
            why += ": its schedule is stepped once an optimizer step, and was made for fewer steps"
    said = f"it was up to {max(rates):.2g}; {len(rates) - dead} steps used 0"
    sheet.became(SHORT, f"{len(rates) - dead} of {len(rates)} steps had no rate")
    sheet.find(
        "schedule_ends_early",
        COUNTED,
        said,
        *more,
        place="lr_scheduler",
        why=why,
        advice=fix,
        specimen=specimen,
    )


def _not_as_asked(subject: Subject, steps: Steps, pace: Pace | None) -> str:
    """Where the rates leave the schedule of the settings; "" if they follow it, or it is unknown.

    A run that goes on from a checkpoint is held against the schedule from its step on, and an
    optimizer with rates of its own, such as one a layer, against that of its largest.
    """
    args, state, rates = subject.args, getattr(subject.trainer, "state", None), steps.rates()
    if args is None or not subject.makes_own_schedule or not state.max_steps or len(rates) < 5:
        return ""
    own = getattr(subject.optimizer, "optimizer", subject.optimizer)  # accelerate wraps it
    whole = _schedule(args, state.max_steps, subject.rate_of(own) or args.learning_rate)
    before = steps.numbers[0].step - 1 + ((pace and pace.began_at) or 0)
    asked, off = _against(whole[before:], rates)
    if len(off) < MANY * len(rates):
        return ""
    i = off[len(off) // 2]
    return (
        f"{len(off)} of {len(rates)} steps used another rate than asked: step {before + i + 1} "
        f"used {rates[i]:.2g}, and the schedule says {asked[i]:.2g}"
    )


def _against(asked: list[float], rates: list[float]) -> tuple[list[float], list[int]]:
    """The schedule, and the steps at which the rates differ from it by a tenth."""
    pairs = enumerate(zip(asked, rates, strict=False))
    return asked, [i for i, (a, b) in pairs if abs(a - b) > OFF * a]


def _schedule(args: Any, num_steps: int, rate: float) -> list[float]:
    """The rate of each step according to the settings, of an optimizer that is made with `rate`.

    Empty for a schedule that waits for the evaluations, such as one of plateaus.
    """
    from transformers import get_scheduler  # takes seconds; whoever has a Trainer has it

    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=rate)
    schedule = get_scheduler(
        args.lr_scheduler_type,
        optimizer,
        num_warmup_steps=args.get_warmup_steps(num_steps),
        num_training_steps=num_steps,
        scheduler_specific_kwargs=args.lr_scheduler_kwargs,
    )
    if "metrics" in inspect.signature(schedule.step).parameters:
        return []
    rates = []
    for _ in range(num_steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates
