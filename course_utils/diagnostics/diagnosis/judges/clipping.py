"""Judges what clipping leaves of the gradients: a loss scale that is taken out only after it."""

import math
from statistics import median

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.watches.steps import StepNumbers, Steps

MOST = 0.8  # of the steps
FEWEST = 4  # steps
NOTHING, FAR = 1e-4, 100.0  # a limit, and how far above it the norms are
LEAST = 16.0  # a scale that makes gradients tiny; a GradScaler begins at 65536
EXACT = 0.01  # by which a ratio may miss a power of two: clipping adds 1e-6 to the norm


def judge_clipping(steps: Steps, sheet: Sheet) -> bool:
    """Write down clipping of gradients that still hold the scaler's factor; whether they do.

    A scaler multiplies by powers of two. Where each norm that clipping leaves is such a power
    times the norm that the optimizer gets, the factor was taken out in between.
    """
    clipped = [one for one in steps.numbers if one.clipped_to is not None and one.grad_norm]
    far = [one for one in clipped if one.clipped_to < NOTHING and one.norm > FAR * one.clipped_to]
    if len(far) > MOST * len(steps.numbers) and len(far) >= FEWEST:
        said = f"clipping cuts a norm of {median(one.norm for one in far):.2g} to "
        said += f"{median(one.clipped_to for one in far):g}, in {len(far)} of {len(steps.numbers)}"
        sheet.find("clipped_to_nothing", MEASURED, f"{said} steps", place="max_norm, max_grad_norm")
    scales = [scale for one in clipped if (scale := _scale_between(one)) >= LEAST]
    if not scales or len(scales) < MOST * len(steps.numbers):
        return False
    scale, limit = median(scales), median(one.clipped_to for one in clipped)
    left, before = (median(getattr(one, name) for one in clipped) for name in ("grad_norm", "norm"))
    sheet.find(
        "clipped_while_scaled",
        COUNTED,
        f"clipping cuts a norm of {before:.2g} to {limit:g}, and the optimizer gets {left:.2g}: "
        f"a factor of {scale:g} is taken out in between, in {len(scales)} of "
        f"{len(steps.numbers)} steps",
        f"without the factor the norm was {before / scale:.2g}",
        place="clip_grad_norm_ before scaler.unscale_(optimizer)",
    )
    return True


def _scale_between(one: StepNumbers) -> float:
    """The factor between a norm that was cut and the optimizer's; 0 if it is no power of two."""
    ratio = one.clipped_to / one.grad_norm
    if one.norm <= one.clipped_to or not math.isfinite(ratio) or ratio < 1:
        return 0.0
    power = 2.0 ** round(math.log2(ratio))
    return power if abs(ratio / power - 1) < EXACT else 0.0
