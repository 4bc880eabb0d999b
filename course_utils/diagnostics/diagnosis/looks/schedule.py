"""Looks at a schedule beside the steps of the run: before a Trainer's, after a loop's."""

from typing import Any

from course_utils.diagnostics.diagnosis.looks.settings import num_steps_of
from course_utils.diagnostics.diagnosis.measures.plans import plan_of
from course_utils.diagnostics.diagnosis.measures.schedules import judge_schedule, plans_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, Subject
from course_utils.diagnostics.libraries.pytorch import schedules_of

EARLY = 0.8  # of the run: a schedule that is over before that was made for another one


def look_at_given_schedule(subject: Subject, sheet: Sheet) -> None:
    """A Trainer's schedule that was made elsewhere: its steps and warm-up beside the run's."""
    given = getattr(subject.trainer, "lr_scheduler", None)
    if given is None or subject.has_ended:
        return
    plan, steps = plan_of(given), num_steps_of(subject)
    if plan is None or not steps or not plan.length:
        return
    said = f"{plan.name} was made for {plan.length} steps, {plan.warm_up} of them warm-up"
    more = f"the run has {steps} steps"
    if plan.warm_up >= steps:
        why = f"the warm-up is longer than the run: the learning rate never reaches {plan.peak:g}"
    elif plan.length < EARLY * steps and plan.ends_at_nothing:
        why = f"the learning rate is 0 after {plan.length} of {steps} steps"
    else:
        sheet.show("schedule", f"{said}; {more}")
        return
    fix = f"make the schedule for {steps} steps"
    place = "lr_scheduler, as given"
    sheet.find("schedule_ends_early", COUNTED, said, more, place=place, why=why, advice=fix)


def look_at_finished_schedule(subject: Subject, sheet: Sheet) -> None:
    """A loop that is over and was not watched: its log has the rates, its schedule its plan."""
    rates = [v for v in subject.logged("learning_rate") if v >= 0]
    is_watched = any(one.key.startswith("schedule") for one in sheet.found)
    if subject.kind != LOOP or subject.optimizer is None or is_watched:
        return
    taken = _steps_of(subject.optimizer)
    if taken and abs(taken - len(rates)) > 1:
        return  # the log has not every step
    judge_schedule(subject, rates, plans_of(schedules_of(subject.optimizer)), sheet)


def _steps_of(optimizer: Any) -> int:
    """Steps that were taken, as Adam counts them; 0 where an optimizer does not."""
    counts = [int(one["step"]) for one in optimizer.state.values() if "step" in one]
    return max(counts, default=0)
