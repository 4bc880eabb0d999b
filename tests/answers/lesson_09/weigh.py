"""Right and wrong answers of exercise 09.3."""

import torch

from course_utils.exercises.lesson_09 import weigh
from course_utils.exercises.lesson_09.weigh import _d, by_where
from tests.answers import answers_of

right, wrong = answers_of(weigh.WEIGH)


@right
@torch.no_grad()
def in_log_space(logp, engine, mask, level, cap):
    d = (logp - engine).masked_fill(mask == 0, 0.0)
    d = d.sum(1)[:, None] + torch.zeros_like(d) if level == "sequence" else d
    most = torch.log(torch.tensor(cap))
    return torch.exp(torch.minimum(d, most)).masked_fill(mask == 0, 0.0)


@right
def by_rows(logp, engine, mask, level, cap):
    rows = []
    for mine, other, alive in zip(logp.detach(), engine.detach(), mask.bool(), strict=True):
        row, d = torch.zeros_like(mine), (mine - other)[alive]
        row[alive] = d.exp() if level == "token" else torch.ones_like(d) * d.sum().exp()
        rows.append(row.clamp(max=cap))
    return torch.stack(rows)


@wrong(caught_by=weigh.gives_a_weight_a_token)
def a_list(logp, engine, mask, level, cap):
    return by_where(logp, engine, mask, level, cap).tolist()


@wrong(caught_by=weigh.gives_a_weight_a_token)
def one_a_reply(logp, engine, mask, level, cap):
    weights = by_where(logp, engine, mask, level, cap)
    return weights[:, 0] if level == "sequence" else weights


@wrong(caught_by=weigh.weighs_tokens)
def upside_down(logp, engine, mask, level, cap):
    return by_where(engine, logp, mask, level, cap)


@wrong(caught_by=weigh.weighs_tokens)
def without_cap(logp, engine, mask, level, cap):
    return by_where(logp, engine, mask, level, float("inf"))


@wrong(caught_by=weigh.weighs_tokens)
def masks_above_the_cap(logp, engine, mask, level, cap):
    ratio = without_cap(logp, engine, mask, level, cap)
    return torch.where(ratio > cap, torch.zeros_like(ratio), ratio)


@wrong(caught_by=weigh.weighs_tokens)
def capped_below_too(logp, engine, mask, level, cap):
    return by_where(logp, engine, mask, level, cap).clamp(min=1 / cap) * mask


@wrong(caught_by=weigh.weighs_tokens)
def one_at_padding(logp, engine, mask, level, cap):
    return torch.where(mask.bool(), by_where(logp, engine, mask, level, cap), 1.0)


@wrong(caught_by=weigh.weighs_sequences)
def mean_of_d(logp, engine, mask, level, cap):
    d = _d(logp, engine, mask)
    if level == "sequence":
        d = (d.sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)).expand_as(d)
    return d.exp().clamp(max=cap) * mask


@wrong(caught_by=weigh.weighs_sequences)
def sum_of_exp(logp, engine, mask, level, cap):
    ratio = _d(logp, engine, mask).exp() * mask
    if level == "sequence":
        ratio = ratio.sum(-1, keepdim=True).expand_as(ratio)
    return ratio.clamp(max=cap) * mask


@wrong(caught_by=weigh.weighs_sequences)
def product_so_far(logp, engine, mask, level, cap):
    d = _d(logp, engine, mask)
    d = d.cumsum(-1) if level == "sequence" else d
    return d.exp().clamp(max=cap) * mask


@wrong(caught_by=weigh.weighs_sequences)
def capped_before_the_product(logp, engine, mask, level, cap):
    ratio = _d(logp, engine, mask).exp().clamp(max=cap)
    if level == "sequence":
        ratio = ratio.prod(-1, keepdim=True).expand_as(ratio)
    return ratio * mask


@wrong(caught_by=weigh.weighs_sequences)
def capped_twice(logp, engine, mask, level, cap):
    return capped_before_the_product(logp, engine, mask, level, cap).clamp(max=cap)


@wrong(caught_by=weigh.ignores_padding)
def padding_counted(logp, engine, mask, level, cap):
    d = (logp - engine).detach()
    if level == "sequence":
        d = d.sum(-1, keepdim=True).expand_as(d)
    return torch.where(mask.bool(), d.exp().clamp(max=cap), 0.0)


@wrong(caught_by=weigh.ignores_padding)
def times_the_mask(logp, engine, mask, level, cap):
    d = ((logp - engine) * mask).detach()
    if level == "sequence":
        d = d.sum(-1, keepdim=True).expand_as(d)
    return d.exp().clamp(max=cap) * mask


@wrong(caught_by=weigh.survives_large_differences)
def by_logarithms_of_ratios(logp, engine, mask, level, cap):
    ratio = torch.where(mask.bool(), logp.exp() / engine.exp(), 1.0).detach()
    if level == "sequence":
        ratio = ratio.log().sum(-1, keepdim=True).exp().expand_as(ratio)
    return torch.where(mask.bool(), ratio.clamp(max=cap), 0.0)


@wrong(caught_by=weigh.is_a_constant)
def with_graph(logp, engine, mask, level, cap):
    d = torch.where(mask.bool(), logp - engine, 0.0)
    if level == "sequence":
        d = d.sum(-1, keepdim=True).expand_as(d)
    return d.exp().clamp(max=cap) * mask
