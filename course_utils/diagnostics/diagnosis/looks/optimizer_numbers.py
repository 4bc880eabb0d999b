"""Looks at an optimizer's own numbers: the memory of its moments, what is added below the root."""

from typing import Any

from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

LARGE_EPS = 1e-3  # beside the root of v, which is as large as a gradient


def look_at_optimizer_numbers(subject: Subject, sheet: Sheet) -> None:
    """Adam's betas and eps: of the optimizer, or of the settings that will make one."""
    if not subject.steps_by_rate:
        return
    for betas, eps in set(_numbers(subject)):
        if betas is not None and betas[0] > betas[1]:
            said = f"betas are {betas}: the mean of the gradients remembers longer than their size"
            sheet.find("betas_swapped", MEASURED, said, place="betas")
        if eps is not None and eps >= LARGE_EPS:
            said = f"eps is {eps:g}"
            sheet.find("eps_too_large", LIKELY, said, place="eps, adam_epsilon")


def _numbers(subject: Subject) -> list[tuple[Any, Any]]:
    groups = getattr(subject.optimizer, "param_groups", ())
    if not groups and subject.args is not None:
        first, second = (getattr(subject.args, f"adam_beta{n}", None) for n in (1, 2))
        known = isinstance(first, float) and isinstance(second, float)
        return [((first, second) if known else None, getattr(subject.args, "adam_epsilon", None))]
    found = [(group.get("betas"), group.get("eps")) for group in groups]
    return [
        (tuple(map(float, betas[:2])) if betas and len(betas) > 1 else None, _number(eps))
        for betas, eps in found
    ]


def _number(eps: Any) -> float | None:
    return float(eps) if isinstance(eps, float | int) else None  # Adafactor has two
