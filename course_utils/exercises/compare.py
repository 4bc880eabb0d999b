"""Says how a number or tensor differs from the right one, with NaN, inf, dtype and shape in mind.

Each function returns None when there is no difference, else one sentence for the student.
"""

import math
from numbers import Real


def number_differs(got: object, want: float, *, rtol: float, given: str) -> str | None:
    """Compare a Python number with the right one. `given` names the inputs.

    >>> number_differs(2.0, 1.0, rtol=1e-6, given="N = 1")
    'for N = 1 it gives 2, the right value is 1 (off by a factor of 2)'
    """
    if hasattr(got, "item") and getattr(got, "numel", lambda: 0)() == 1:
        got = got.item()
    if isinstance(got, bool) or not isinstance(got, Real):
        return f"for {given} it gives {got!r}, a {type(got).__name__}, where a number is asked"
    got = float(got)
    if got == want or (math.isnan(got) and math.isnan(want)):
        return None
    if not (math.isfinite(got) and math.isfinite(want)):
        return f"for {given} it gives {got:.4g}, the right value is {want:.4g}"
    if abs(got - want) <= rtol * abs(want):
        return None
    factor = f" (off by a factor of {got / want:.3g})" if want else ""
    return f"for {given} it gives {got:.4g}, the right value is {want:.4g}{factor}"


def letter_differs(letters: dict, question: str, right: str) -> str | None:
    """Compare one answer of a quiz, whose keys are "1" or 1, with the right letter.

    >>> letter_differs({"1": "A", 2: "c"}, "2", "b")
    "your letter for 2 is 'c'"
    """
    given = str(letters.get(question, letters.get(int(question)))).strip().lower()
    return None if given == right else f"your letter for {question} is {given!r}"


def tensor_differs(got: object, want, *, rtol: float, given: str, atol: float = 0.0) -> str | None:
    """Compare a tensor with the right one: type, dtype, shape, non-finite values, then error.

    The error is relative to the larger of |want| and 1e-30, elementwise; the worst is named.
    Errors up to `atol` do not count.
    """
    import torch  # criteria on plain numbers must not pay for torch

    if not isinstance(got, torch.Tensor):
        return f"for {given} it gives a {type(got).__name__}, where a tensor is asked"
    if got.dtype != want.dtype:
        return f"for {given} the dtype is {got.dtype}, it should be {want.dtype}"
    if got.shape != want.shape:
        return f"for {given} the shape is {tuple(got.shape)}, it should be {tuple(want.shape)}"
    got, want = got.detach().double().cpu(), want.detach().double().cpu()
    same_kind = torch.where(
        want.isfinite(), got.isfinite(), (got == want) | (got != got) & (want != want)
    )
    if not same_kind.all():
        at = (~same_kind).nonzero()[0].tolist()
        there = f"{got[tuple(at)].item():.4g}, it should be {want[tuple(at)].item():.4g}"
        return f"for {given}, at index {at}, the value is {there}"
    error = ((got - want).abs() / want.abs().clamp(min=1e-30)).nan_to_num(0.0)
    is_close = (got == want) | ((got - want).abs() <= atol)
    error = torch.where(is_close, torch.zeros_like(error), error)
    if not error.numel() or error.max() <= rtol:
        return None
    at = (error == error.max()).nonzero()[0].tolist()
    seen = f"{got[tuple(at)].item():.4g}, it should be {want[tuple(at)].item():.4g}"
    where = f", at index {at}," if at else ""
    return f"for {given}{where} the value is {seen}"
