"""Exercise 01.4: log-softmax without torch's own."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from course_utils.exercises.compare import tensor_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

NOT_YOURS = ("log_softmax", "special_log_softmax", "logsumexp", "cross_entropy")
INF = float("inf")
ATOL = 1e-6  # a few float32 roundings of a sum near 1


class _Names(TorchFunctionMode):
    """Collects the names of the torch functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.add(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


def _agree(stable_log_softmax, logits, given: str) -> str | None:
    want = torch.log_softmax(logits.double(), -1).float()
    got = stable_log_softmax(logits.clone())
    if isinstance(got, torch.Tensor) and got.shape == want.shape:
        got = torch.where((got - want).abs() < ATOL, want.to(got.dtype), got)
    return tensor_differs(got, want, rtol=1e-4, given=given)


def moderate_logits(stable_log_softmax) -> str | None:
    generator = torch.Generator().manual_seed(0)
    for shape in ((7,), (4, 9), (2, 3, 50)):
        logits = 2 * torch.randn(shape, generator=generator)
        if seen := _agree(stable_log_softmax, logits, f"random logits of shape {shape}"):
            return seen
    return None


def large_logits(stable_log_softmax) -> str | None:
    base = torch.tensor([[0.0, 1.0, 3.0], [2.0, 2.0, 5.0]])
    for shift in (100.0, -200.0, 1e4, -1e4):
        if seen := _agree(stable_log_softmax, base + shift, f"logits around {shift:g}"):
            return seen
    rows = base + torch.tensor([[1e4], [-1e4]])
    return _agree(stable_log_softmax, rows, "one row around 1e4 and one around -1e4")


def far_tail(stable_log_softmax) -> str | None:
    logits = torch.tensor([[0.0, -50.0, -200.0, -5000.0]])
    return _agree(stable_log_softmax, logits, f"the logits {logits.tolist()}")


def masked_logits(stable_log_softmax) -> str | None:
    logits = torch.tensor([[1.0, -INF, 2.0], [-INF, 0.0, -INF]])
    return _agree(stable_log_softmax, logits, f"the logits {logits.tolist()}")


def gradient_is_right(stable_log_softmax) -> str | None:
    generator = torch.Generator().manual_seed(1)
    base, weight = (torch.randn(3, 6, generator=generator) for _ in range(2))
    for shift in (0.0, 128.0):  # a power of two: the shifted logits keep their differences
        logits = (base.half().float() + shift).requires_grad_()
        value = stable_log_softmax(logits)
        if not value.requires_grad:
            return "no gradient reaches the logits"
        (got,) = torch.autograd.grad((weight * value).sum(), logits)
        exact = logits.detach().double().requires_grad_()
        (weight.double() * torch.log_softmax(exact, -1)).sum().backward()
        error = (got.double() - exact.grad).abs().max().item()
        if not error < 1e-4:
            return f"with logits around {shift:g} a gradient is off by {error:.2g}"
    return None


def own_work(stable_log_softmax) -> str | None:
    with _Names() as names:
        stable_log_softmax(torch.tensor([[1.0, 2.0]]))
    used = sorted(names.seen.intersection(NOT_YOURS))
    return f"it calls torch's {' and '.join(used)}" if used else None


def shifted_by_the_row_maximum(logits):
    shifted = logits - logits.amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def by_cumulative_sums(logits):
    shifted = logits - logits.detach().amax(-1, keepdim=True)
    return shifted - torch.logcumsumexp(shifted, -1)[..., -1:]


def by_definition(logits):
    return (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()


def log_of_stable_softmax(logits):
    return logits.softmax(-1).log()


def log_with_eps(logits):
    return (logits.softmax(-1) + 1e-12).log()


def shifted_by_the_largest_of_all(logits):
    shifted = logits - logits.max()
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def over_the_first_axis(logits):
    shifted = logits - logits.amax(0, keepdim=True)
    return shifted - shifted.exp().sum(0, keepdim=True).log()


def with_lowest_for_inf(logits):
    return shifted_by_the_row_maximum(logits.clamp(min=torch.finfo(logits.dtype).min))


def with_detached_normaliser(logits):
    shifted = logits - logits.amax(-1, keepdim=True)
    return shifted - shifted.detach().exp().sum(-1, keepdim=True).log()


def without_a_shift(logits):
    return logits - logits.exp().sum(-1, keepdim=True).log()


def from_torch(logits):
    return F.log_softmax(logits, dim=-1)


LOGSOFTMAX = Exercise(
    id="01.4",
    name="LOGSOFTMAX",
    title="A stable log-softmax",
    minutes=5,
    difficulty="two lines",
    points=4,
    reads="stable_log_softmax",
    expects=(Callable,),
    hints=(
        "Which number can you subtract from a whole row without changing its log-softmax?",
        "With the row's maximum subtracted the largest exp is 1, and the sum is at least 1.",
        "With s = logits - logits.amax(-1, keepdim=True), it is "
        "s - s.exp().sum(-1, keepdim=True).log().",
    ),
    criteria=(
        Criterion(
            "For moderate logits of any shape it agrees with float64 over the last axis.",
            moderate_logits,
            why="the last axis is the vocabulary, whatever stands before it",
            next="sum over dim -1 and keep the dimension",
        ),
        Criterion(
            "Logits around 1e4 and -1e4 do not change that, nor rows of different size.",
            large_logits,
            why="exp leaves float32 above 88.7, and below -104 it is 0, whose log is -inf",
            next="shift each row by a number of its own, and do not shift back",
        ),
        Criterion(
            "A token 5000 below the largest gets -5000, not -inf.",
            far_tail,
            why="its probability rounds to 0, its log-probability is an ordinary number",
            next="never take the log of a single probability, only of the sum",
        ),
        Criterion(
            "A logit of -inf, a forbidden token, gives -inf and harms no other.",
            masked_logits,
            why="this is how tokens are forbidden; -inf minus a finite number is -inf, no nan",
            next="leave -inf as it is",
        ),
        Criterion(
            "Its gradient is that of float64.",
            gradient_is_right,
            why="each logit lowers all the others, through the normaliser",
            next="let the gradient flow through the sum",
        ),
        Criterion(
            "It does without torch's log_softmax and logsumexp.",
            own_work,
            why="those are the answer; the point is to see what they do",
            next="use amax, exp, sum and log",
        ),
    ),
    right=(shifted_by_the_row_maximum, by_cumulative_sums),
    wrong=(
        Wrong(without_a_shift, caught_by=large_logits),
        Wrong(by_definition, caught_by=large_logits),
        Wrong(shifted_by_the_largest_of_all, caught_by=large_logits),
        Wrong(log_of_stable_softmax, caught_by=far_tail),
        Wrong(log_with_eps, caught_by=far_tail),
        Wrong(over_the_first_axis, caught_by=moderate_logits),
        Wrong(with_lowest_for_inf, caught_by=masked_logits),
        Wrong(with_detached_normaliser, caught_by=gradient_is_right),
        Wrong(from_torch, caught_by=own_work),
    ),
)
