"""Judges a schedule by the steps that were taken: too slow, again and again, soon at nothing."""

from collections.abc import Sequence
from typing import Any

from course_utils.diagnostics.diagnosis.measures.plans import Plan, plan_of
from course_utils.diagnostics.diagnosis.measures.specimens import in_order
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import SHORT
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, Subject

ENOUGH = 8  # steps
RARELY = 0.7  # schedule steps an optimizer step
HALF = 0.5  # of the rate that the schedule leads to; and of its length
OFTEN = 2.5  # lengths of a schedule that were run through
NOTHING, MUCH = 1e-3, 0.3  # of the largest rate; and of the steps
SOME = 12  # steps
PLACE = "schedule.step()"


def judge_schedule(
    subject: Subject,
    rates: list[float],
    plans: list[Plan],
    sheet: Sheet,
    *,
    trained: Sequence[int] = (),
) -> bool:
    """Judge the rates of a run's steps beside what its schedule was made for.

    Args:
        rates: one of each step that was taken, in their order.
        trained: how many tensors each of these steps trained, where that is known.

    Returns:
        Whether a fault was found.
    """
    if len(rates) < ENOUGH or max(rates) <= 0:
        return False
    for plan in plans:
        if _too_slow(subject, rates, plan, sheet) or _repeats(rates, plan, sheet):
            return True
    alike = [rate for rate, count in zip(rates, trained, strict=False) if count == trained[-1]]
    return _soon_at_nothing(rates, max(alike or rates), sheet)


def plans_of(schedules: list[Any]) -> list[Plan]:
    return [plan for one in schedules if (plan := plan_of(one)) is not None]


def _too_slow(subject: Subject, rates: list[float], plan: Plan, sheet: Sheet) -> bool:
    """The rate never comes to half of what the schedule leads to, or the plan is hardly begun."""
    steps, ticks = len(rates), plan.ticks
    is_of_the_run = RARELY * steps <= plan.length <= steps / RARELY  # or it may be for epochs
    is_rare = 0 < ticks < RARELY * steps and is_of_the_run
    is_low = max(rates) < HALF * plan.peak and rates[-1] == max(rates) > rates[0]
    if not is_rare and not (is_low and subject.kind == LOOP):
        return False
    said = [f"{plan.name} was stepped {ticks} times in {steps} optimizer steps"]
    if plan.length:
        said.append(f"it was made for {plan.length} steps")
    said.append(f"the rate was {min(rates):.2g} to {max(rates):.2g}; it leads to {plan.peak:.2g}")
    why, fix = "", ""
    if is_rare:
        why = (
            f"the schedule was made for {plan.length} steps and is stepped {ticks} times: once an "
            "epoch, as it seems, and not with each optimizer step"
        )
        fix = "schedule.step() behind each optimizer.step()"
    elif plan.ticks >= RARELY * steps:
        length = f" of {plan.warm_up} steps" if plan.warm_up else ""
        why = f"the warm-up{length} is longer than the run: the rate only ever climbs"
        fix = "a warm-up of a tenth of the optimizer steps of this run, or less"
    weight = COUNTED if is_rare else MEASURED
    more = {"why": why, "advice": fix, "specimen": (f"learning rate by step: {in_order(rates)}",)}
    sheet.find("schedule_too_slow", weight, *said, place=PLACE, **more)
    return True


def _repeats(rates: list[float], plan: Plan, sheet: Sheet) -> bool:
    """A cosine goes up again behind its length, which only one of restarts is meant to do."""
    if not plan.turns or not plan.length or plan.ticks < OFTEN * plan.length:
        return False
    turns = sum((b - a) * (c - b) < 0 for a, b, c in zip(rates, rates[1:], rates[2:], strict=False))
    if turns < 2:
        return False
    said = f"{plan.name} has T_max {plan.length}, and was stepped {plan.ticks} times"
    more = f"the rate turns {turns} times in {len(rates)} steps"
    specimen = (f"learning rate by step: {in_order(rates)}",)
    sheet.find("schedule_repeats", COUNTED, said, more, place="T_max", specimen=specimen)
    return True


def _soon_at_nothing(rates: list[float], largest: float, sheet: Sheet) -> bool:
    """A rate that is a thousandth of the largest for a third of the steps, up to the end.

    A head that is trained alone at first may have had a far larger rate than all weights have now.
    """
    alive = max(i for i, rate in enumerate(rates) if rate > NOTHING * largest)
    dead = len(rates) - 1 - alive
    if len(rates) < SOME or dead < MUCH * len(rates):
        return False
    said = f"it was up to {largest:.2g}; {dead} of {len(rates)} steps used {rates[-1]:.2g}"
    sheet.became(SHORT, f"{dead} of {len(rates)} steps had next to no rate")
    sheet.find(
        "schedule_ends_early",
        MEASURED,
        said,
        place=PLACE,
        why=f"the learning rate is next to nothing from step {alive + 2} of {len(rates)} on: the "
        "schedule falls far faster than the run goes",
        advice="step a decay that is meant for epochs once an epoch; of ReduceLROnPlateau look at "
        "mode ('min' for a loss), patience and what it is given",
        specimen=(f"learning rate by step: {in_order(rates)}",),
    )
    return True
