"""Judges what was counted of a run's steps."""

import math
from statistics import median
from typing import Any

import torch

from course_utils.diagnostics.diagnosis.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.stepping import Steps
from course_utils.diagnostics.diagnosis.subject import Subject
from course_utils.diagnostics.gradient_flow.report import same_layers

STILL = 1e-3  # share of the weights that move, below which a step is no step
EARLY = 0.8  # of the run: a rate of 0 before that is too early
LARGE = 0.5  # update by weight, in the median of the steps


def judge_steps(subject: Subject, steps: Steps, sheet: Sheet, *, num_counted: int = 0) -> None:
    """Write down what the steps show.

    Args:
        num_counted: steps that the Trainer counted, to tell those that a scaler skipped.
    """
    for failure in dict.fromkeys(steps.failures):
        sheet.miss("a step", failure)
    if not steps.numbers:
        _no_step(subject, steps, sheet, num_counted)
        return
    _skipped(steps, sheet, num_counted)
    _gradients(steps, sheet)
    _movement(subject, steps, sheet)
    _rates(subject, steps, sheet)


def _no_step(subject: Subject, steps: Steps, sheet: Sheet, num_counted: int) -> None:
    if steps.strangers:
        name, count = steps.strangers.most_common(1)[0]
        said = f"{count} steps of {name} were on tensors that are not the model's"
        sheet.find("optimizer_holds_others", COUNTED, said, place=name)
    elif num_counted and not steps.failures:
        said = f"{num_counted} steps were counted and none reached the optimizer"
        sheet.find("steps_skipped", COUNTED, said, place="GradScaler")
    else:
        sheet.miss("steps", "no optimizer stepped")


def _skipped(steps: Steps, sheet: Sheet, num_counted: int) -> None:
    taken = steps.num_steps
    if num_counted > 4 and taken < num_counted / 2:
        said = f"{num_counted - taken} of {num_counted} steps did not reach the weights"
        sheet.find("steps_skipped", MEASURED, said, place="GradScaler")


def _gradients(steps: Steps, sheet: Sheet) -> None:
    last, taken = steps.numbers[-1], len(steps.numbers)
    never = [name for name, count in steps.without_grad.items() if count == taken]
    if never:
        said = f"{len(never)} of {last.num_trainable} trainable tensors never had a gradient"
        weight = COUNTED if len(never) >= last.num_trainable / 2 else MEASURED
        place = same_layers(never[0])
        sheet.find("weight_without_gradient", weight, said, f"such as {never[0]}", place=place)
        return
    dead = sum(one.grad_norm == 0 for one in steps.numbers)
    if dead == taken:
        said = f"grad_norm is exactly 0 in all {taken} steps"
        sheet.find("no_gradient", MEASURED - 2, said)
        return
    norms = median(one.grad_norm for one in steps.numbers)
    if not math.isfinite(norms):
        return
    sheet.clear(
        "gradients",
        f"all {last.num_trainable} tensors have one, norm {norms:.2g} as the optimizer gets it",
    )


def _movement(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    with_rate = [one for one in steps.numbers if one.lr > 0 and one.grad_norm > 0]
    if not with_rate:
        return
    share = median(one.share_moved for one in with_rate)
    if share <= STILL:
        said = f"a step moves {share:.2%} of the weights, in the median of {len(with_rate)}"
        is_narrow = any("bfloat16" in str(p.dtype) for p in subject.trainable().values())
        key = "rounding_swallows" if is_narrow else "weights_do_not_move"
        sheet.find(key, MEASURED + 1, said)
        return
    still = [name for name, count in steps.moved.items() if count == 0]
    sheet.clear("weights that move", f"{share:.0%} in a step; {len(still)} tensors never did")
    update = median(one.largest_update for one in with_rate)
    if update > LARGE:
        said = f"a step changes {steps.largest_at} by {update:.0%} of its size, in the median"
        sheet.find("update_too_large", LIKELY, said, place="learning_rate")


def _rates(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    rates = steps.rates()
    dead = next((i for i, rate in enumerate(rates) if rate == 0 and max(rates[i:]) == 0), None)
    if max(rates) == 0:
        sheet.find("rate_zero", COUNTED, f"the learning rate is 0 in all {len(rates)} steps")
    elif dead is not None and len(rates) > 4 and dead < EARLY * len(rates):
        said = f"the learning rate is 0 from step {dead + 1} of {len(rates)} on"
        sheet.find("schedule_ends_early", COUNTED, said, place="lr_scheduler")
    elif off := _not_as_asked(subject, rates):
        sheet.find("rate_not_asked", MEASURED, off, place="lr_scheduler")
    else:
        sheet.clear("rates used", f"{min(rates):.2g} to {max(rates):.2g}")


def _not_as_asked(subject: Subject, rates: list[float]) -> str:
    """Where the rates leave the schedule of the settings; "" if they do not, or it is not known."""
    args, state = subject.args, getattr(subject.trainer, "state", None)
    if args is None or not subject.makes_own_schedule or not state.max_steps or len(rates) < 5:
        return ""
    whole = _schedule(args, state.max_steps)
    before = max(0, state.global_step - len(rates))  # steps of the run that was resumed
    asked, off = min(
        (_against(whole[at:], rates) for at in (0, before)), key=lambda one: len(one[1])
    )
    if len(off) < 0.3 * len(rates):
        return ""
    i = off[len(off) // 2]
    return (
        f"{len(off)} of {len(rates)} steps used another rate than asked: step {i + 1} used "
        f"{rates[i]:.2g}, and the schedule says {asked[i]:.2g}"
    )


def _against(asked: list[float], rates: list[float]) -> tuple[list[float], list[int]]:
    """The schedule, and the steps at which the rates leave it by a tenth."""
    pairs = enumerate(zip(asked, rates, strict=False))
    return asked, [i for i, (a, b) in pairs if abs(a - b) > 0.1 * a]


def _schedule(args: Any, num_steps: int) -> list[float]:
    """The rate of each step as the settings ask for it."""
    from transformers import get_scheduler  # takes seconds; whoever has a Trainer has it

    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=args.learning_rate)
    schedule = get_scheduler(
        args.lr_scheduler_type,
        optimizer,
        num_warmup_steps=args.get_warmup_steps(num_steps),
        num_training_steps=num_steps,
        scheduler_specific_kwargs=args.lr_scheduler_kwargs,
    )
    rates = []
    for _ in range(num_steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates
