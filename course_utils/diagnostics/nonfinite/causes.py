"""Rules from an observation to a cause and a fix; they need only the operation itself.

A rule is a function from a case to a Cause, or None where it does not apply. The first that
applies wins; the last always does.
"""

import math
import re

import torch

from course_utils.diagnostics.nonfinite import causes_data, causes_training
from course_utils.diagnostics.nonfinite.case import Case, Cause

ZERO_TIMES_INF = re.compile(r"(?<![\d.])-?0 \* -?inf|-?inf \* -?0(?![\d.])")
EXPONENTIALS = {"exp", "exp2", "expm1", "sinh", "cosh"}
# Finite forward, with an infinite slope at the edge of where they are defined.
STEEP = {
    "sqrt",
    "pow",
    "acos",
    "asin",
    "linalg_vector_norm",
    "norm",
    "std",
    "var",
    "atanh",
    "rsqrt",
}


def find_cause(case: Case) -> Cause:
    """The cause and the fix of one fault."""
    return next(cause for rule in RULES if (cause := rule(case)) is not None)


def _written(case: Case) -> Cause | None:
    event = case.origin
    if event.phase == "already in unwritten memory":
        return Cause(
            "memory never written",
            f"memory that torch.empty gave{case.place} was read before anything was written to it",
            "allocate it with torch.zeros, or write all of it",
        )
    if event.operation == "kernel":
        return Cause(
            "kernel not visible",
            f"{event.sentence}: the memory was made{case.place}",
            "take the same step without that kernel: on a CPU, or with "
            "attn_implementation='eager' and use_liger_kernel=False",
        )
    if "(inf in " in event.sentence:
        return Cause(
            "constant beyond the format",
            f"a number in the source is larger than {_short(event.dtype)} can hold: "
            f"{event.sentence}",
            f"choose it below {event.limit:.3g}, or compute this in a wider format",
        )
    return None


def _masked_by_zero(case: Case) -> Cause | None:
    event = case.became_nan or case.origin
    is_product = event.operation == "mul" and ZERO_TIMES_INF.search(event.sentence)
    if not is_product or event.phase != "forward":
        return None
    return Cause(
        "0 * inf under a mask",
        f"an inf was multiplied by 0, by a mask or weight that should hide it: 0 * inf = nan"
        f"{case.place}",
        "select instead of multiplying, torch.where(mask, x, 0), and mask the input of what made "
        "the inf, not its output",
    )


def _log(case: Case) -> Cause | None:
    if not case.origin.operation.startswith("log") or " of 0 = " not in case.origin.sentence:
        return None
    return Cause(
        "log of 0",
        f"the logarithm of a probability that is exactly 0 was taken{case.place}",
        "take log_softmax of the scores instead of log of a softmax, or clamp: p.clamp_min(1e-8)",
    )


def _outside_domain(case: Case) -> Cause | None:
    event = case.origin
    is_domain = event.operation in STEEP | {"log", "log1p", "log2", "log10", "acosh"}
    if not (is_domain and event.is_fresh and event.out.has_nan) or event.phase == "backward":
        return None
    return Cause(
        "outside the domain",
        f"{event.operation} is not defined for its input{case.place}: {event.sentence}",
        f"keep the input of {event.operation} inside its domain first, e.g. x.clamp_min(0)",
    )


def _steep(case: Case) -> Cause | None:
    event = case.origin
    if event.phase != "backward" or event.node.lower() not in STEEP:
        return None
    return Cause(
        f"slope of {event.node} is infinite",
        f"the value of {event.node} was fine and its derivative was not: at the edge of its "
        f"domain (0 for a root or a norm) it is infinite{case.place}",
        "keep the argument off the edge, (x + 1e-8).sqrt() or x.clamp(-1 + eps, 1 - eps); "
        "torch.where around the result does not help, the branch not taken sends back 0 * inf",
    )


def _zero_division(case: Case) -> Cause | None:
    event = case.origin
    if event.operation not in ("div", "reciprocal", "pow") or event.is_overflow:
        return None
    if event.phase == "backward":
        return Cause(
            "division by 0 in a backward pass",
            f"the backward pass of {event.node} divided by 0{case.place}: {event.sentence}",
            "add a small number to what is divided by, in the backward formula or before the op",
        )
    if event.phase == "optimizer":
        return None
    is_ratio = "0 / 0" in event.sentence
    what = (
        "a mean over nothing, or a norm of 0" if is_ratio else "a count, norm or temperature of 0"
    )
    return Cause(
        "division by 0",
        f"the divisor is 0{case.place}, {what}: {event.sentence}",
        "bound the divisor from below, x / n.clamp_min(1e-8), or leave the case n = 0 out",
    )


def _exponential(case: Case) -> Cause | None:
    event = case.origin
    if event.operation not in EXPONENTIALS or not event.is_overflow:
        return None
    hidden = case.became_nan is not None and case.became_nan.phase == "backward"
    why = f"{event.operation} of {event.largest_input:.4g} is beyond {_short(event.dtype)}"
    if hidden:
        why += "; what hides that inf later (a clamp, a min, a mask) sends back 0 * inf = nan"
    bound = min(20, int(math.log(event.limit)) - 1)  # 10 in float16, where exp(11.1) is inf
    return Cause(
        "exp overflows",
        f"{why}{case.place}",
        f"bound the argument before {event.operation}, in {_short(event.dtype)} "
        f"x.clamp(-{bound}, {bound}).{event.operation}(); a clamp after {event.operation} is too "
        "late for the gradient",
    )


def _half(case: Case) -> Cause | None:
    event = case.origin
    is_mere = event.is_overflow and event.operation not in EXPONENTIALS
    if event.dtype != torch.float16 or not is_mere:
        return None
    return Cause(
        "float16 limit",
        f"float16 ends at 65504, and the output{case.place or ' of this operation'} passed it",
        "train in bfloat16 (bf16=True, dtype='bfloat16'), or keep this module in float32",
    )


def _log_of_nothing_left(case: Case) -> Cause | None:
    """The backward pass of log1p at -1: the probability in log(1 - p) was rounded to 1."""
    event = case.origin
    if event.phase != "backward" or event.node != "log1p":
        return None
    return Cause(
        "log of 1 - 1",
        f"log1p got -1{case.place}: in log(1 - p) the probability p was rounded to 1, whose "
        f"log is -inf and has no finite gradient: {event.sentence}",
        "compute log-probs and 1 - p in float32, log(1 - p) as torch.log(-torch.expm1(logp)), and "
        "keep logp below 0, logp.clamp(max=-1e-6)",
    )


def _no_alignment(case: Case) -> Cause | None:
    """A CTC loss is inf, in any format, for a row with fewer frames than labels."""
    if case.origin.operation != "ctc_loss" or not case.origin.is_overflow:
        return None
    return Cause(
        "no alignment",
        f"a row has more labels (with one between two that are alike) than frames{case.place}: no "
        "alignment of them exists, and its CTC loss is inf",
        "drop rows with fewer frames than labels, or set ctc_zero_infinity=True (zero_infinity of "
        "torch's ctc_loss)",
    )


def _anything(case: Case) -> Cause:
    event = case.origin
    what = event.sentence or f"{event.operation or event.phase} gave it"
    if event.is_overflow:
        fix = "scale the inputs down, or compute this one operation in a wider format"
        return Cause(
            "beyond the format", f"the numbers outgrew the format{case.place}: {what}", fix
        )
    fix = f"keep the input of {event.operation or 'this step'} in the range where it is finite"
    return Cause("other", f"{what}{case.place}", fix)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


RULES = (
    causes_training.broken_weight,
    causes_training.broken_buffer,
    causes_training.optimizer,
    causes_data.bad_input,
    causes_data.labels_ignored,
    causes_data.hidden_row,
    causes_data.one_sample,
    causes_data.no_values,
    causes_data.forbidden_label,
    _written,
    _no_alignment,
    _log_of_nothing_left,
    causes_training.divergence,
    _log,
    _half,
    _masked_by_zero,
    _exponential,
    _outside_domain,
    _steep,
    _zero_division,
    _anything,
)
