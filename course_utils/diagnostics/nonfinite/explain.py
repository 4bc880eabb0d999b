"""Explains in one sentence, with its values, how one element became non-finite.

Pure functions on an operation, its inputs as they were before it ran, and its output.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.diagnostics.nonfinite.values import Values, plain

SIGNS = {"mul": "*", "div": "/", "add": "+", "sub": "-", "rsub": "-", "pow": "**"}
MAX_ROWS = 8  # of a batch, named in a report
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "mv", "dot", "addmv", "convolution"}


@dataclass(frozen=True)
class Call:
    """One ATen call: its tensors before it ran, and one output."""

    name: str
    arguments: dict  # by name, in the order of the signature
    is_pointwise: bool
    inputs: list[tuple[Tensor, Values]]  # the floating tensors among them
    output: Tensor
    out: Values


def format_range(dtype: torch.dtype) -> str:
    """The range of a format, with its largest finite number.

    >>> format_range(torch.float16)
    'the range of float16 (limit 6.55e+04)'
    """
    return f"the range of {_short(dtype)} (limit {torch.finfo(dtype).max:.3g})"


def explain(call: Call) -> str:
    """One sentence on how `call` made something non-finite out of its inputs."""
    if call.name in ("softmax", "log_softmax", "logsumexp"):
        return _explain_rows(call)
    if call.name in ("mean", "std", "var") and (few := _explain_few(call)):
        return few
    if call.name.startswith("nll_loss") and call.out.has_nan and call.out.numel == 1:
        return "a mean over no label, because every label is ignored: 0 / 0"
    if call.name in PRODUCTS:
        return _explain_product(call)
    if call.is_pointwise:
        return _explain_element(call)
    return _explain_size(call)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _number(value: float) -> str:
    return f"{value:.4g}"


def _explain_element(call: Call) -> str:
    output = plain(call.output)
    index = tuple(_telling(call, output).nonzero()[0].tolist())
    elements = [(arg, _element(arg, output, index)) for arg in call.arguments.values()]
    elements = [(arg, value) for arg, value in elements if value is not None]
    values = [value for _, value in elements]
    shown = [_show_operand(arg, value, output.dtype) for arg, value in elements]
    return _phrase(call.name, values, shown, output[index].item(), output.dtype)


def is_fresh(call: Call) -> bool:
    """Whether some element of the output became non-finite although its inputs were finite."""
    if call.is_pointwise:
        return bool(_fresh_elements(call).any())
    return all(values.is_finite for _, values in call.inputs)


def _fresh_elements(call: Call) -> Tensor:
    """The same for each element; a bool mask of the output's shape."""
    fresh = ~plain(call.output).isfinite()
    for tensor, values in call.inputs:
        if not values.is_finite:
            fresh &= plain(tensor).expand(fresh.shape).isfinite()
    return fresh


def _telling(call: Call, output: Tensor) -> Tensor:
    """A bool mask of the elements to explain: from finite inputs, else NaN made without a NaN."""
    bad = _fresh_elements(call)
    if not bool(bad.any()):
        bad = output.isnan() if call.out.has_nan else output.isinf()
        for tensor, values in call.inputs:
            if values.has_nan:
                bad &= ~plain(tensor).expand(bad.shape).isnan()
    return bad if bool(bad.any()) else ~output.isfinite()


def locate(call: Call) -> dict[str, tuple[int, ...]]:
    """`at`, the index of the most informative element, and `rows`, those with one.

    Only infs and NaNs that this call made count, if it made any.
    """
    output = plain(call.output)
    if call.is_pointwise:
        return position_of(_telling(call, output))
    return position_of(output.isnan() if call.out.has_nan else ~output.isfinite())


def position_of(bad: Tensor) -> dict[str, tuple[int, ...]]:
    """The first index in a bool mask, and the first positions along its first axis.

    >>> position_of(torch.tensor([[False, False], [False, True]]))
    {'at': (1, 1), 'rows': (1,)}
    """
    if bad.dim() == 0 or not bool(bad.any()):
        return {"at": (), "rows": ()}
    rows = bad.flatten(1).any(1) if bad.dim() > 1 else bad
    return {
        "at": tuple(bad.nonzero()[0].tolist()),
        "rows": tuple(rows.nonzero().flatten()[:MAX_ROWS].tolist()),
    }


def _element(arg, output: Tensor, index: tuple[int, ...]) -> float | None:
    """The argument's value at the output's `index`, under broadcasting; None for no number."""
    if isinstance(arg, Tensor):
        return plain(arg).expand(output.shape)[index].item()
    return arg if isinstance(arg, int | float) and not isinstance(arg, bool) else None


def _phrase(
    name: str, values: list[float], shown: list[str], result: float, dtype: torch.dtype
) -> str:
    overflowed = math.isinf(result) and all(math.isfinite(value) for value in values)
    if name in ("exp", "expm1", "exp2") and overflowed:
        edge = math.log(torch.finfo(dtype).max) / (math.log(2) if name == "exp2" else 1)
        return f"{name} of {shown[0]} left {format_range(dtype)}; it does so above {edge:.2f}"
    if name in ("to_copy", "copy") and overflowed:
        return f"casting {shown[0]} left {format_range(dtype)}"
    if name in ("addcdiv", "addcmul") and len(values) >= 3:
        sign = "/" if name == "addcdiv" else "*"
        factor = f" * {shown[3]}" if len(shown) > 3 else ""
        formula = f"{shown[0]} + {shown[1]} {sign} {shown[2]}{factor}"
    elif name in SIGNS and len(values) >= 2:
        first, second = (shown[1], shown[0]) if name == "rsub" else (shown[0], shown[1])
        factor = f"{shown[2]} * " if len(shown) > 2 else ""  # alpha of add and sub
        formula = f"{first} {SIGNS[name]} {factor}{second}"
    else:
        formula = f"{name} of {', '.join(shown)}"
    is_pole = 0 in values or name in ("log1p", "atanh")  # 1 / 0 left no range
    left = f", outside {format_range(dtype)}" if overflowed and not is_pole else ""
    return f"{formula} = {_number(result)}{left}"


def _show_operand(arg, value: float, dtype: torch.dtype) -> str:
    """A number in the source that the format cannot hold acts as inf: say so."""
    is_number = not isinstance(arg, Tensor) and math.isfinite(value)
    is_beyond = is_number and abs(value) > torch.finfo(dtype).max
    return f"{_number(value)} (inf in {_short(dtype)})" if is_beyond else _number(value)


def _explain_rows(call: Call) -> str:
    tensor, values = call.inputs[0]
    dim = call.arguments.get("dim", -1)
    hidden = plain(tensor).isneginf().all(dim)
    if bool(hidden.any()):
        rows = f"{int(hidden.sum())} of {hidden.numel()} rows"
        return f"{call.name} over {rows} in which every value is -inf"
    if values.num_inf:
        return f"{call.name} over a row that holds inf: inf - inf"
    return _explain_size(call)


def _explain_few(call: Call) -> str:
    count = call.inputs[0][1].numel
    if call.name == "mean":
        return "mean of no values: 0 / 0" if count == 0 else ""
    degrees = f"{call.name} of one value: 0 / 0" if count == call.output.numel() else ""
    return f"{call.name} of no values: 0 / 0" if count == 0 else degrees


def _explain_product(call: Call) -> str:
    sizes = " and ".join(_number(values.largest) for _, values in call.inputs[-2:])
    if any(not values.is_finite for _, values in call.inputs):
        return f"a matrix product met inf: 0 * inf or inf - inf among values up to {sizes}"
    return f"a matrix product of values up to {sizes} left {format_range(call.output.dtype)}"


def _explain_size(call: Call) -> str:
    largest = max((values.largest for _, values in call.inputs), default=0.0)
    made = "nan" if call.out.has_nan else "inf"
    if any(not values.is_finite for _, values in call.inputs):
        return f"{call.name} met inf among values up to {_number(largest)} and gave {made}"
    count = max((values.numel for _, values in call.inputs), default=0)
    left = f", outside {format_range(call.output.dtype)}" if made == "inf" else ""
    return f"{call.name} of {count} values up to {_number(largest)} gave {made}{left}"
