"""Exercise 03.4: which combinations of format, optimizer, eps and task survive one step."""

from collections.abc import Callable, Iterable
from itertools import product

import torch

from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_03.adamw_step import GRADIENTS

FLOAT16, BFLOAT16, FLOAT32 = torch.float16, torch.bfloat16, torch.float32
ADAMW, FUSED, SGD = "adamw_torch", "adamw_torch_fused", "sgd"
WIDE_EPS = (1e-12, 1e-8, 3e-7, 1e-6, 1e-3)
TIE = 2.0**-25  # between 0 and float16's smallest number; it rounds to the even one, 0
CLEAR_EPS = (1e-3, 1e-4, 1e-6, 3e-7, 1e-7, 9.5e-8, 9e-8, 8.96e-8)
LOST_EPS = (TIE, 2.98e-8, 2.9e-8, 2e-8, 1e-8, 5e-9, 1e-12)
# These eps round to float16's smallest number. A real step at lr 1e-5 is finite with them; the
# same step in learning rates, as 03.3 has it, is not. Either is an answer, a mixture is not.
BORDER_EPS = (8.9e-8, 8e-8, 6e-8, 5e-8, 4e-8, 3.1e-8, 2.99e-8)


def really_survives(dtype: torch.dtype, optim: str, eps: float, head_trains: bool) -> bool:
    """One real step of the real optimizer on weights of this dtype: are they finite after it?"""
    weight = torch.nn.Parameter(torch.ones(len(GRADIENTS), dtype=dtype))
    weight.grad = torch.tensor(GRADIENTS, dtype=dtype)
    if optim == SGD:
        optimizer = torch.optim.SGD([weight], lr=1e-5)
    else:
        optimizer = torch.optim.AdamW(
            [weight],
            lr=1e-5,
            eps=eps,
            fused=optim == FUSED,
            foreach=False if optim == ADAMW else None,
        )
    if head_trains:
        optimizer.step()
    return bool(weight.isfinite().all())


def _differs(survives, cases: Iterable[tuple]) -> str | None:
    for case in cases:
        got, want = survives(*case), really_survives(*case)
        if bool(got) != want:
            dtype, optim, eps, head = case
            named = f"{str(dtype).removeprefix('torch.')}, {optim}, eps {eps:g}"
            state = "trained" if head else "frozen"
            result = "stays finite" if want else "becomes inf and nan"
            return f"for {named}, head {state}, it says {bool(got)}; a real step {result}"
    return None


def is_true_or_false(survives) -> str | None:
    for dtype in (FLOAT32, FLOAT16):
        got = survives(dtype, ADAMW, 1e-8, True)
        is_number = isinstance(got, (bool, int)) or getattr(got, "size", None) == 1
        if not is_number and not (isinstance(got, torch.Tensor) and got.numel() == 1):
            kind = type(got).__name__
            given = f"{str(dtype).removeprefix('torch.')}, {ADAMW}, eps 1e-08, head trained"
            return f"for {given}, it gives {got!r}, a {kind}, where True or False is asked"
    return None


def rule_wide_formats(survives) -> str | None:
    cases = product((FLOAT32, BFLOAT16), (ADAMW, FUSED, SGD), WIDE_EPS, (True,))
    return _differs(survives, cases)


def rule_optimizers(survives) -> str | None:
    return _differs(survives, product((FLOAT16,), (FUSED, SGD), WIDE_EPS, (True,)))


def rule_eps(survives) -> str | None:
    if seen := _differs(survives, product((FLOAT16,), (ADAMW,), CLEAR_EPS + LOST_EPS, (True,))):
        return seen
    verdicts = {bool(survives(FLOAT16, ADAMW, eps, True)): eps for eps in BORDER_EPS}
    if len(verdicts) == 1:
        return None
    return (
        f"for float16, {ADAMW}, head trained, it says True for eps {verdicts[True]:g} and False "
        f"for eps {verdicts[False]:g}, and both round to the same float16 number"
    )


def rule_frozen(survives) -> str | None:
    cases = product(
        (FLOAT16, BFLOAT16, FLOAT32), (ADAMW, FUSED, SGD), (1e-12, 1e-8, 1e-6), (False,)
    )
    return _differs(survives, cases)


def rule_by_rounding(dtype, optim, eps, head_trains):
    divides_in_dtype = head_trains and optim == ADAMW
    return not divides_in_dtype or torch.tensor(eps).to(dtype).item() > 0


RULE = Exercise(
    id="03.4",
    name="RULE",
    title="Which combinations survive?",
    minutes=6,
    difficulty="one expression",
    points=3,
    reads="survives",
    expects=(Callable,),
    form=is_true_or_false,
    hints=(
        "What is eps = 1e-8 once it is a float16? And 3e-8?",
        "Three conditions together are deadly: a trained head, this optimizer, and an eps that its "
        "format rounds to 0.",
        "Make a tensor of eps in the format itself and look at what is left of it. The other two "
        "conditions are comparisons.",
    ),
    criteria=(
        Criterion(
            "float32 and bfloat16 heads survive with every optimizer.",
            rule_wide_formats,
            why="both formats go down to 1e-38, so they can hold eps and v",
            next="it is the range of the format that counts, not its precision",
        ),
        Criterion(
            "Optimizers that do not divide by a float16 number survive.",
            rule_optimizers,
            why="the fused kernel computes in float32, and SGD does not divide",
            next="which optimizer divides, and in which format does it compute?",
        ),
        Criterion(
            "With AdamW in float16, eps decides.",
            rule_eps,
            why="half of the smallest subnormal, 6e-8, and every number below that rounds to 0",
            next="round eps to the format and look at the result",
        ),
        Criterion(
            "A frozen head survives everything.",
            rule_frozen,
            why="no optimizer touches it",
            next="use head_trains",
        ),
    ),
    answer=rule_by_rounding,
)
