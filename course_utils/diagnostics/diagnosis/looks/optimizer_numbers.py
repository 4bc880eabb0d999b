"""Looks at an optimizer's own numbers: the memory of its moments, what is added below the root."""

import math
from contextlib import suppress
from statistics import median
from typing import Any

import torch

from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.gradient_flow import audit_gradients
from course_utils.diagnostics.nonfinite.batches import keep

LARGE_EPS = 1e-3  # beside the root of v, which is as large as a gradient
FAR_TOO_LARGE = 0.1  # where the gradient is not known
LIBRARIES = ("torch", "transformers", "bitsandbytes", "apex", "deepspeed", "torchao")
ADAMS = (torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam)


def look_at_optimizer_numbers(subject: Subject, sheet: Sheet) -> None:
    """Adam's betas and eps: of the optimizer, or of the settings that will make one."""
    if not subject.steps_by_rate or not _is_known(subject):
        return
    for betas, eps in set(_numbers(subject)):
        if betas is not None and betas[0] > betas[1]:
            said = f"betas are {betas}: the mean of the gradients remembers longer than their size"
            sheet.find("betas_swapped", MEASURED, said, place="betas")
        if eps is not None and eps >= LARGE_EPS:
            _eps(eps, subject, sheet)


def _eps(eps: float, subject: Subject, sheet: Sheet) -> None:
    """A sum over many rows has gradients beside which a large eps is small."""
    gradients = _largest_gradients(subject)
    if eps < (median(gradients) if gradients else FAR_TOO_LARGE):
        sheet.show("eps of the optimizer", f"{eps:g}")
        return
    said = f"eps is {eps:g}"
    if gradients:
        said = f"{said}; the largest number of a tensor's gradient is {median(gradients):.2g}, in "
        said += f"the median of {len(gradients)} tensors"
    sheet.find("eps_too_large", LIKELY, said, place="eps, adam_epsilon")


def _largest_gradients(subject: Subject) -> list[float]:
    """The largest number of each tensor's gradient, on the first rows; none without a loss."""
    can_learn = subject.trainer is not None or subject.loss_of is not None
    if not can_learn or subject.batch is None or subject.kind == POLICY:
        return []
    target = subject.trainer or subject.model
    with suppress(Exception), put_back(subject):  # the look at the gradients says what raises
        flow = audit_gradients(target, keep(subject.batch), loss_of=subject.loss_of)
        known = (one.largest_grad or 0.0 for one in flow.parameters)
        return [largest for largest in known if 0 < largest < math.inf]
    return []


def _is_known(subject: Subject) -> bool:
    """Whether a library wrote the optimizer, or what it is made from: betas have one meaning."""
    own = getattr(subject.optimizer, "optimizer", subject.optimizer)  # accelerate wraps it
    is_of_library = type(own).__module__.partition(".")[0] in LIBRARIES
    return own is None or is_of_library or isinstance(own, ADAMS)


def _numbers(subject: Subject) -> list[tuple[Any, Any]]:
    groups = getattr(subject.optimizer, "param_groups", ())
    if not groups and subject.args is not None:
        first, second = (getattr(subject.args, f"adam_beta{n}", None) for n in (1, 2))
        known = isinstance(first, float) and isinstance(second, float)
        return [((first, second) if known else None, getattr(subject.args, "adam_epsilon", None))]
    found = [(group.get("betas"), group.get("eps")) for group in groups]
    return [
        (tuple(map(float, betas)) if betas and len(betas) == 2 else None, _number(eps))
        for betas, eps in found
    ]


def _number(eps: Any) -> float | None:
    return float(eps) if isinstance(eps, float | int) else None  # Adafactor has two
