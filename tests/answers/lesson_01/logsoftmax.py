"""Right and wrong answers of exercise 01.4."""

import functools
import threading

import numpy as np
import torch
import torch.nn.functional as F

from course_utils.checks import checking
from course_utils.exercises.lesson_01 import logsoftmax
from course_utils.exercises.lesson_01.logsoftmax import INF, shifted_by_the_row_maximum
from tests.answers import answers_of

right, wrong = answers_of(logsoftmax.LOGSOFTMAX)


@wrong(caught_by=logsoftmax.own_work)
def by_cumulative_sums(logits):
    shifted = logits - logits.detach().amax(-1, keepdim=True)
    return shifted - torch.logcumsumexp(shifted, -1)[..., -1:]


@wrong(caught_by=logsoftmax.own_work)
def by_adding_logs(logits):
    shifted = logits - logits.detach().amax(-1, keepdim=True)
    return shifted - functools.reduce(torch.logaddexp, shifted.unbind(-1)).unsqueeze(-1)


@wrong(caught_by=logsoftmax.own_work)
def from_torch_in_a_thread(logits):
    results = []
    thread = threading.Thread(target=lambda: results.append(torch.log_softmax(logits, -1)))
    thread.start()
    thread.join()
    return results[0]


@wrong(caught_by=logsoftmax.large_logits)
def by_definition(logits):
    return (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()


@wrong(caught_by=logsoftmax.far_tail)
def log_with_eps(logits):
    return (logits.softmax(-1) + 1e-12).log()


@wrong(caught_by=logsoftmax.far_tail)
def log_of_stable_softmax(logits):
    return logits.softmax(-1).log()


@wrong(caught_by=logsoftmax.large_logits)
def shifted_by_the_largest_of_all(logits):
    shifted = logits - logits.max()
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


@wrong(caught_by=logsoftmax.moderate_logits)
def over_the_first_axis(logits):
    shifted = logits - logits.amax(0, keepdim=True)
    return shifted - shifted.exp().sum(0, keepdim=True).log()


@wrong(caught_by=logsoftmax.masked_logits)
def with_lowest_for_inf(logits):
    return shifted_by_the_row_maximum(logits.clamp(min=torch.finfo(logits.dtype).min))


@wrong(caught_by=logsoftmax.gradient_is_right)
def with_detached_normaliser(logits):
    shifted = logits - logits.amax(-1, keepdim=True)
    return shifted - shifted.detach().exp().sum(-1, keepdim=True).log()


@wrong(caught_by=logsoftmax.large_logits)
def without_a_shift(logits):
    return logits - logits.exp().sum(-1, keepdim=True).log()


@wrong(caught_by=logsoftmax.own_work)
def from_torch(logits):
    return F.log_softmax(logits, dim=-1)


@wrong(caught_by=logsoftmax.own_work)
def from_special_logsumexp(logits):
    shifted = logits - logits.amax(-1, True)
    return shifted - torch.special.logsumexp(shifted, -1, keepdim=True)


@wrong(caught_by=logsoftmax.own_work)
def from_a_module(logits):
    return torch.nn.LogSoftmax(dim=-1)(logits)


@wrong(caught_by=logsoftmax.large_logits)
def from_a_distribution(logits):
    return torch.distributions.Categorical(logits=logits, validate_args=False).logits


@wrong(caught_by=logsoftmax.own_work)
def from_torch_where_it_is_hard(logits):
    if (logits.abs() > 80).any():
        return torch.log_softmax(logits, -1)
    return without_a_shift(logits)


@wrong(caught_by=logsoftmax.gradient_is_right)
def by_a_numpy_detour(logits):
    values = logits.detach().double().numpy()
    with np.errstate(all="ignore"):
        shifted = values - values.max(-1, keepdims=True)
        result = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return torch.from_numpy(result).to(logits.dtype)


@wrong(caught_by=logsoftmax.FORM)
def returning_probabilities_too(logits):
    return shifted_by_the_row_maximum(logits), logits.softmax(-1)


@wrong(caught_by=logsoftmax.FORM)
def returning_the_sum(logits):
    return shifted_by_the_row_maximum(logits).sum(-1)


@wrong(caught_by=logsoftmax.FORM)
def always_in_float64(logits):
    return shifted_by_the_row_maximum(logits.double())


@wrong(caught_by=checking.leaves_its_inputs_alone)
def shifting_in_place(logits):
    logits.data.sub_(logits.data.amax(-1, keepdim=True))
    return logits - logits.exp().sum(-1, keepdim=True).log()


@wrong(caught_by=logsoftmax.masked_logits)
def with_zero_for_nan(logits):
    return torch.nan_to_num(shifted_by_the_row_maximum(logits), nan=0.0, neginf=-INF)


@wrong(caught_by=logsoftmax.masked_logits)
def with_a_uniform_row(logits):
    size = torch.tensor(float(logits.shape[-1]))
    return torch.where(
        (logits == -INF).all(-1, keepdim=True), -size.log(), shifted_by_the_row_maximum(logits)
    )


@wrong(caught_by=logsoftmax.far_tail)
def with_a_floor_on_the_tail(logits):
    return shifted_by_the_row_maximum(logits).clamp(min=-1000)


@wrong(caught_by=logsoftmax.large_logits)
def without_an_empty_batch(logits):
    shifted = logits - logits.amax(-1, keepdim=True)
    rows = [row - row.exp().sum().log() for row in shifted.reshape(-1, shifted.shape[-1])]
    return torch.stack(rows).reshape(logits.shape)


@wrong(caught_by=logsoftmax.large_logits)
def with_a_capped_shift(logits):
    shifted = logits - logits.amax(-1, keepdim=True).clamp(max=1000)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


@wrong(caught_by=logsoftmax.far_tail)
def shifted_by_the_mean(logits):
    shifted = logits - logits.mean(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


@right
def in_float32_and_back(logits):
    wide = logits.float() if logits.dtype.itemsize < 4 else logits
    largest = torch.max(wide, dim=-1, keepdim=True)[0].detach()
    return ((wide - largest) - (wide - largest).exp().sum(-1, True).log()).to(logits.dtype)


@right
def staying_in_float32(logits):
    wide = logits.float() if logits.dtype.itemsize < 4 else logits
    return shifted_by_the_row_maximum(wide)


@right
def by_log1p_of_the_others(logits):
    shifted = logits - torch.amax(logits, -1, keepdim=True)
    others = shifted.exp().sum(-1, keepdim=True) - 1
    return shifted - torch.log1p(others)
