"""Exercise 01.4: log-softmax without torch's own."""

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from course_utils.checks import checking
from course_utils.checks.calls import uses
from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise, Wrong
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


def by_cumulative_sums(logits):
    shifted = logits - logits.detach().amax(-1, keepdim=True)
    return shifted - torch.logcumsumexp(shifted, -1)[..., -1:]


def by_adding_logs(logits):
    shifted = logits - logits.detach().amax(-1, keepdim=True)
    return shifted - functools.reduce(torch.logaddexp, shifted.unbind(-1)).unsqueeze(-1)


def from_torch_in_a_thread(logits):
    results = []
    thread = threading.Thread(target=lambda: results.append(torch.log_softmax(logits, -1)))
    thread.start()
    thread.join()
    return results[0]


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


def from_special_logsumexp(logits):
    shifted = logits - logits.amax(-1, True)
    return shifted - torch.special.logsumexp(shifted, -1, keepdim=True)


def from_a_module(logits):
    return torch.nn.LogSoftmax(dim=-1)(logits)


def from_a_distribution(logits):
    return torch.distributions.Categorical(logits=logits, validate_args=False).logits


def from_torch_where_it_is_hard(logits):
    if (logits.abs() > 80).any():
        return torch.log_softmax(logits, -1)
    return without_a_shift(logits)


def by_a_numpy_detour(logits):
    values = logits.detach().double().numpy()
    with np.errstate(all="ignore"):
        shifted = values - values.max(-1, keepdims=True)
        result = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return torch.from_numpy(result).to(logits.dtype)


def returning_probabilities_too(logits):
    return shifted_by_the_row_maximum(logits), logits.softmax(-1)


def returning_the_sum(logits):
    return shifted_by_the_row_maximum(logits).sum(-1)


def always_in_float64(logits):
    return shifted_by_the_row_maximum(logits.double())


def shifting_in_place(logits):
    logits.data.sub_(logits.data.amax(-1, keepdim=True))
    return logits - logits.exp().sum(-1, keepdim=True).log()


def with_zero_for_nan(logits):
    return torch.nan_to_num(shifted_by_the_row_maximum(logits), nan=0.0, neginf=-INF)


def with_a_uniform_row(logits):
    size = torch.tensor(float(logits.shape[-1]))
    return torch.where(
        (logits == -INF).all(-1, keepdim=True), -size.log(), shifted_by_the_row_maximum(logits)
    )


def with_a_floor_on_the_tail(logits):
    return shifted_by_the_row_maximum(logits).clamp(min=-1000)


def without_an_empty_batch(logits):
    shifted = logits - logits.amax(-1, keepdim=True)
    rows = [row - row.exp().sum().log() for row in shifted.reshape(-1, shifted.shape[-1])]
    return torch.stack(rows).reshape(logits.shape)


def with_a_capped_shift(logits):
    shifted = logits - logits.amax(-1, keepdim=True).clamp(max=1000)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def shifted_by_the_mean(logits):
    shifted = logits - logits.mean(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def in_float32_and_back(logits):
    wide = logits.float() if logits.dtype.itemsize < 4 else logits
    largest = torch.max(wide, dim=-1, keepdim=True)[0].detach()
    return ((wide - largest) - (wide - largest).exp().sum(-1, True).log()).to(logits.dtype)


def staying_in_float32(logits):
    wide = logits.float() if logits.dtype.itemsize < 4 else logits
    return shifted_by_the_row_maximum(wide)


def by_log1p_of_the_others(logits):
    shifted = logits - torch.amax(logits, -1, keepdim=True)
    others = shifted.exp().sum(-1, keepdim=True) - 1
    return shifted - torch.log1p(others)


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
        "Take the shifted logits s. Log-softmax is s minus the log of one number a row: which, and "
        "how do you keep its dimension?",
    ),
    form=FORM,
    criteria=(
        Criterion(
            "For moderate logits of any shape it agrees with float64 over the last axis.",
            moderate_logits,
            why="the last axis is the vocabulary, whatever stands before it",
            next="sum over dim -1 and keep the dimension",
        ),
        Criterion(
            "Logits around 1e4 and -1e4 do not change that, nor rows of different size, nor a "
            "batch of no rows.",
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
            "A logit of -inf, a forbidden token, gives -inf and harms no other; a row of nothing "
            "but -inf gives nan or -inf.",
            masked_logits,
            why="this is how tokens are forbidden; where all are, a finite number would be a lie",
            next="leave -inf as it is, and each row to itself",
        ),
        Criterion(
            "Its gradient is that of float64.",
            gradient_is_right,
            why="each logit lowers all the others, through the normaliser",
            next="let the gradient flow through the sum, in torch",
        ),
        Criterion(
            "It does without torch's log_softmax, logsumexp, cross_entropy and relatives, by any "
            "name, and starts no thread.",
            own_work,
            why="those are the answer; the point is to see what they do",
            next="use amax, exp, sum and log",
        ),
    ),
    right=(
        shifted_by_the_row_maximum,
        in_float32_and_back,
        staying_in_float32,
        by_log1p_of_the_others,
    ),
    wrong=(
        Wrong(returning_probabilities_too, caught_by=FORM),
        Wrong(returning_the_sum, caught_by=FORM),
        Wrong(always_in_float64, caught_by=FORM),
        Wrong(shifting_in_place, caught_by=checking.leaves_its_inputs_alone),
        Wrong(over_the_first_axis, caught_by=moderate_logits),
        Wrong(without_a_shift, caught_by=large_logits),
        Wrong(by_definition, caught_by=large_logits),
        Wrong(shifted_by_the_largest_of_all, caught_by=large_logits),
        Wrong(without_an_empty_batch, caught_by=large_logits),
        Wrong(with_a_capped_shift, caught_by=large_logits),
        Wrong(log_of_stable_softmax, caught_by=far_tail),
        Wrong(log_with_eps, caught_by=far_tail),
        Wrong(with_a_floor_on_the_tail, caught_by=far_tail),
        Wrong(shifted_by_the_mean, caught_by=far_tail),
        Wrong(with_lowest_for_inf, caught_by=masked_logits),
        Wrong(with_zero_for_nan, caught_by=masked_logits),
        Wrong(with_a_uniform_row, caught_by=masked_logits),
        Wrong(with_detached_normaliser, caught_by=gradient_is_right),
        Wrong(by_a_numpy_detour, caught_by=gradient_is_right),
        Wrong(by_cumulative_sums, caught_by=own_work),
        Wrong(by_adding_logs, caught_by=own_work),
        Wrong(from_torch_in_a_thread, caught_by=own_work),
        Wrong(from_torch, caught_by=own_work),
        Wrong(from_a_module, caught_by=own_work),
        Wrong(from_a_distribution, caught_by=large_logits),
        Wrong(from_special_logsumexp, caught_by=own_work),
        Wrong(from_torch_where_it_is_hard, caught_by=own_work),
    ),
)
