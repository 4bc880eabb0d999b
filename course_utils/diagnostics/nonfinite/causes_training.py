"""Causes that lie in the run: weights broken before it, the optimizer, divergence.

Rules as in `causes`.
"""

import torch

from course_utils.diagnostics.nonfinite.case import Case, Cause


def broken_weight(case: Case) -> Cause | None:
    event = case.origin
    if event.phase != "already in the weights":
        return None
    held = case.broken_on_entry.get(event.module)
    rows = f", in row {', '.join(map(str, event.rows))}" if event.rows else ""
    if held is None:
        return Cause(
            "weight not finite",
            f"`{event.module}` was not finite before this step began{rows}",
            "load it afresh; if it is finite then, watch the run from its first step",
        )
    return Cause(
        "broken weight",
        f"`{event.module}` was so before the first step ({held}): the checkpoint, or what "
        "initialised it, is broken",
        "load the checkpoint afresh and look at this tensor in its file; initialise the rows "
        "that were added to a vocabulary",
    )


def broken_buffer(case: Case) -> Cause | None:
    event = case.origin
    if event.phase != "already in a buffer":
        return None
    is_half = event.dtype == torch.float16 and not event.out.has_nan
    why = "float16 cannot hold its value: casting the model made it inf" if is_half else ""
    return Cause(
        "float16 limit" if is_half else "broken buffer",
        f"the buffer `{event.module}` was so before this step{': ' + why if why else ''}",
        "keep this model in bfloat16 or float32" if is_half else "reset or reload this buffer",
    )


def optimizer(case: Case) -> Cause | None:
    event = case.origin
    if event.phase != "optimizer":
        return None
    rate = f" (it is {case.growth.learning_rate:g})" if case.growth.learning_rate else ""
    if event.dtype == torch.float16 and (
        "rounds to 0" in event.sentence or event.operation in ("addcdiv", "div")
    ):
        return Cause(
            "optimizer's eps is 0 in float16",
            f"the optimizer's eps and small second moments round to 0 in float16, so its division "
            f"on {event.module} is x / 0",
            "keep trainable weights in float32 (load in float32 and use fp16=True or bf16=True), "
            "or in bfloat16 with a learning rate that still moves them",
        )
    return Cause(
        "optimizer step",
        f"gradients were finite and the step on {event.module} was not: {event.sentence}",
        f"lower the learning rate{rate}, and look at weight decay, eps and the state it was "
        "resumed with",
    )


def divergence(case: Case) -> Cause | None:
    event = case.origin
    product_of_inf = "met inf" in event.sentence
    if not case.growth.text or not (event.is_overflow or product_of_inf or event.out.has_inf):
        return None
    rate = case.growth.learning_rate
    which = f"learning rate of {rate:g}" if rate else "learning rate"
    return Cause(
        "divergence",
        f"the run diverged, {case.growth.text}; the overflow{case.place} is only where it ended",
        f"lower the {which}, warm it up, and clip gradients (max_grad_norm=1.0)",
    )
