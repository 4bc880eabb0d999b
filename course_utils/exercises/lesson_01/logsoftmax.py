"""Exercise 01.4: log-softmax without torch's own."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from course_utils.checks.calls import uses
from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.probes import has_form, trials
from course_utils.checks.settings import both
from course_utils.checks.watched_calls import AnswerRaised

NOT_YOURS = (
    "log_softmax",
    "special_log_softmax",
    "logsumexp",
    "special_logsumexp",
    "cross_entropy",
    "cross_entropy_loss",
    "nll_loss",
    "logcumsumexp",
    "logaddexp",
    "logaddexp2",
    "softmin",
)
INF = float("inf")
ATOL = 1e-6  # a few float32 roundings of a sum near 1
SHAPES = ((1,), (7,), (4, 9), (1, 5), (3, 1), (2, 3, 50), (2, 2, 2, 4))
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def _draw(generator, shape, dtype):
    return (2 * torch.randn(shape, generator=generator).to(dtype),)


same_shape = has_form(_draw, shapes=SHAPES, dtypes=DTYPES, result_dtype=None)


def float32_stays(stable_log_softmax) -> str | None:
    for dtype in DTYPES:
        got = stable_log_softmax(torch.zeros(2, 3, dtype=dtype)).dtype
        if got != dtype and not (got == torch.float32 and dtype.itemsize == 2):
            return f"{dtype} logits give {got}, they should give {dtype}"
    return None


def _agree(stable_log_softmax, logits, given: str) -> str | None:
    want = torch.log_softmax(logits.double(), -1)
    got = stable_log_softmax(logits.clone())
    near = ALLOWED[logits.dtype]
    got = torch.where((got - want).abs() < near.absolute, want, got.double())
    return tensor_differs(got, want, rtol=near.relative, given=given)


@dataclass(frozen=True)
class Allowed:
    """The error that the rounding of a format costs."""

    absolute: float
    relative: float


ALLOWED = {
    torch.float64: Allowed(ATOL, 1e-4),
    torch.float32: Allowed(ATOL, 1e-4),
    torch.float16: Allowed(5e-3, 1e-2),
    torch.bfloat16: Allowed(4e-2, 5e-2),
}


def moderate_logits(stable_log_softmax) -> str | None:
    for trial in trials(_draw, SHAPES, DTYPES):
        if seen := _agree(stable_log_softmax, *trial.args, trial.given):
            return seen
    return None


def large_logits(stable_log_softmax) -> str | None:
    base = torch.tensor([[0.0, 1.0, 3.0], [2.0, 2.0, 5.0]])
    for shift in (100.0, -200.0, 1e4, -1e4):
        if seen := _agree(stable_log_softmax, base + shift, f"logits around {shift:g}"):
            return seen
    rows = base + torch.tensor([[1e4], [-1e4]])
    seen = _agree(stable_log_softmax, rows, "one row around 1e4 and one around -1e4")
    return seen or _no_rows(stable_log_softmax)


def _no_rows(stable_log_softmax) -> str | None:
    try:
        shape = tuple(stable_log_softmax(torch.zeros(0, 5)).shape)
    except AnswerRaised as raised:
        return f"for a batch of no rows, of shape (0, 5), it raises: {raised}"
    return None if shape == (0, 5) else f"for a batch of shape (0, 5) the result has shape {shape}"


def far_tail(stable_log_softmax) -> str | None:
    logits = torch.tensor([[0.0, -50.0, -200.0, -5000.0]])
    return _agree(stable_log_softmax, logits, f"the logits {logits.tolist()}")


def masked_logits(stable_log_softmax) -> str | None:
    logits = torch.tensor([[1.0, -INF, 2.0], [-INF, 0.0, -INF]])
    if seen := _agree(stable_log_softmax, logits, f"the logits {logits.tolist()}"):
        return seen
    rows = torch.tensor([[1.0, 2.0], [-INF, -INF], [3.0, -INF]])
    got, given = stable_log_softmax(rows.clone()), "a row of nothing but -inf among others"
    if got[1].isfinite().any() or (got[1] == INF).any():
        return f"for {given} that row becomes {got[1].tolist()}, neither nan nor -inf"
    want = torch.log_softmax(rows.double(), -1)[[0, 2]]
    return tensor_differs(got[[0, 2]].double(), want, rtol=1e-4, given=f"the other rows of {given}")


def gradient_is_right(stable_log_softmax) -> str | None:
    generator = torch.Generator().manual_seed(1)
    base, weight = (torch.randn(3, 6, generator=generator) for _ in range(2))
    for shift in (0.0, 128.0):  # a power of two: the shifted logits keep their differences
        seen = _gradient_differs(stable_log_softmax, base.half().float() + shift, weight)
        if seen:
            return f"with logits around {shift:g} {seen}"
    forbidden = base.masked_fill(weight > 0.5, -INF)
    seen = _gradient_differs(stable_log_softmax, forbidden, weight)
    return f"with some logits of -inf {seen}" if seen else None


def _gradient_differs(stable_log_softmax, logits, weight) -> str | None:
    """Compare the gradients of a weighted sum of the values that are not -inf."""
    logits, allowed = logits.requires_grad_(), logits.isfinite()
    value = stable_log_softmax(logits)
    if not value.requires_grad:
        return "no gradient reaches the logits"
    (got,) = torch.autograd.grad((weight * value)[allowed].sum(), logits)
    exact = logits.detach().double().requires_grad_()
    (weight.double() * torch.log_softmax(exact, -1))[allowed].sum().backward()
    error = (got.double() - exact.grad).abs().max().item()
    return None if error < 1e-4 else f"a gradient is off by {error:.2g}"


def own_work(stable_log_softmax) -> str | None:
    cases = (
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([1e4, -1e4, -INF]),
        torch.zeros(3, 40, dtype=torch.float16),
        torch.ones(2, 3, requires_grad=True),
    )
    looks = (uses(stable_log_softmax, logits, banned=NOT_YOURS) for logits in cases)
    return next(filter(None, looks), None)


def shifted_by_the_row_maximum(logits):
    shifted = logits - logits.amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


FORM = both(same_shape, float32_stays)

LOGSOFTMAX = Exercise(
    id="01.4",
    name="LOGSOFTMAX",
    title="A stable log-softmax",
    minutes=4,
    difficulty="two lines",
    points=4,
    reads="stable_log_softmax",
    expects=(Callable,),
    hints=(
        "Which number can you subtract from a whole row without changing its log-softmax?",
        "With the row's maximum subtracted the largest exp is 1, and the sum is at least 1.",
        "Take the shifted logits s. Log-softmax is s minus the log of one number per row. Which "
        "number, and how do you keep its dimension?",
    ),
    form=FORM,
    criteria=(
        Criterion(
            "For moderate logits of any shape it agrees with float64 over the last axis.",
            moderate_logits,
            why="the last axis is the vocabulary; all axes before it count rows",
            next="sum over dim -1 and keep the dimension",
        ),
        Criterion(
            "Logits around 1e4 and -1e4 do not change that, nor rows of different size, nor a "
            "batch of no rows.",
            large_logits,
            why="exp is inf in float32 above 88.7, and 0 below -104, whose log is -inf",
            next="subtract from each row its own largest logit, and do not add it again",
        ),
        Criterion(
            "A token 5000 below the largest gets -5000, not -inf.",
            far_tail,
            why="its probability rounds to 0, its log-probability is an ordinary number",
            next="never take the log of a single probability, only of the sum",
        ),
        Criterion(
            "A logit of -inf, a forbidden token, gives -inf and harms no other; a row of nothing "
            "but -inf gives nan or -inf.",
            masked_logits,
            why="this is how tokens are forbidden; if all are, no finite number is right",
            next="keep -inf as it is, and compute each row on its own",
        ),
        Criterion(
            "Its gradient is that of float64.",
            gradient_is_right,
            why="each logit lowers all the others, through the normaliser",
            next="let the gradient flow through the sum, in torch",
        ),
        Criterion(
            "It uses none of torch's log_softmax, logsumexp, cross_entropy and relatives, under "
            "any name, and starts no thread.",
            own_work,
            why="those are the answer; the point is to see what they do",
            next="use amax, exp, sum and log",
        ),
    ),
    answer=shifted_by_the_row_maximum,
)
