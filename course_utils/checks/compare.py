"""Says how a number or tensor differs from the right one, with NaN, inf, dtype and shape in mind.

Each function returns None when there is no difference, else one sentence for the student.
"""

import math
from numbers import Real


def number_differs(got: object, want: float, *, rtol: float, given: str) -> str | None:
    """Compare a Python number with the right one. `given` names the inputs.

    >>> number_differs(2.0, 1.0, rtol=1e-6, given="N = 1")
    'for N = 1 it gives 2, the right value is 1 (off by a factor of 2)'
    >>> number_differs(1.0001, 1.0, rtol=1e-6, given="N = 1")
    'for N = 1 it gives 1.0001, the right value is 1'
    """
    if hasattr(got, "item") and getattr(got, "numel", lambda: 0)() == 1:
        got = got.item()
    if isinstance(got, bool) or not isinstance(got, Real):
        return f"for {given} it gives {got!r}, a {type(got).__name__}, where a number is asked"
    got = float(got)
    if got == want or (math.isnan(got) and math.isnan(want)):
        return None
    mine, right = told_apart(got, want)
    if not (math.isfinite(got) and math.isfinite(want)):
        return f"for {given} it gives {mine}, the right value is {right}"
    if abs(got - want) <= rtol * abs(want):
        return None
    factor = f"{got / want:.4g}" if got and want else "1"
    off = f" (off by a factor of {factor})" if factor != "1" else ""
    return f"for {given} it gives {mine}, the right value is {right}{off}"


def told_apart(got: float, want: float) -> tuple[str, str]:
    """Two numbers with five digits, or with as many more as it takes to see a difference.

    >>> told_apart(50016.0, 50048.0), told_apart(1.0, 1.0000001)
    (('50016', '50048'), ('1', '1.0000001'))
    """
    for digits in range(5, 18):
        mine, right = f"{got:.{digits}g}", f"{want:.{digits}g}"
        if mine != right:
            break
    return mine, right


def letter_differs(letters: dict, question: str, right: str) -> str | None:
    """Compare one answer of a quiz, whose keys are "1" or 1, with the right letter.

    >>> letter_differs({"1": "A", 2: "c)"}, "2", "b")
    "your letter for 2 is 'c'"
    """
    given = letter_in(letters.get(question, letters.get(int(question))))
    return None if given == right else f"your letter for {question} is {given!r}"


def letter_in(given: object) -> str:
    """A letter without the characters that people write around it.

    >>> letter_in(" (B) "), letter_in("c)")
    ('b', 'c')
    """
    return str(given).strip().lower().removeprefix("(").rstrip(").")


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
        return _at_the_first(~same_kind, got, want, given)
    error = ((got - want).abs() / want.abs().clamp(min=1e-30)).nan_to_num(0.0)
    is_close = (got == want) | ((got - want).abs() <= atol)
    error = torch.where(is_close, torch.zeros_like(error), error)
    if not error.numel() or error.max() <= rtol:
        return None
    return _at_the_first(error == error.max(), got, want, given)


def _at_the_first(where, got, want, given: str) -> str:
    at = tuple(where.nonzero()[0].tolist())
    mine, right = told_apart(got[at].item(), want[at].item())
    place = f", at index {list(at)}" if at else ""
    return f"for {given}{place}, the value is {mine}, it should be {right}"
