"""Right and wrong answers of exercise 08.1."""

import torch

from course_utils.exercises.lesson_08 import parts
from course_utils.exercises.lesson_08.parts import sum_over_count
from tests.answers import answers_of

right, wrong = answers_of(parts.PARTS)


@right
def with_a_cat(losses):
    count = torch.cat(losses).numel()
    return tuple(one.sum().div(count) for one in losses)


@right
def with_weights(losses):
    total = 0
    for one in losses:
        total += one.shape[0]
    return [(one * (1.0 / total)).sum(dim=0) for one in losses]


@wrong(caught_by=parts.gives_one_number_each)
def one_total(losses):
    return torch.cat(losses).mean()


@wrong(caught_by=parts.gives_one_number_each)
def per_token(losses):
    count = torch.cat(losses).numel()
    return [one / count for one in losses]


@wrong(caught_by=parts.gives_one_number_each)
def floats(losses):
    return [one.item() for one in sum_over_count(losses)]


@wrong(caught_by=parts.adds_up_to_the_token_mean)
def means(losses):
    return [one.mean() for one in losses]


@wrong(caught_by=parts.adds_up_to_the_token_mean)
def means_over_g(losses):
    return [one.mean() / len(losses) for one in losses]


@wrong(caught_by=parts.adds_up_to_the_token_mean)
def sums(losses):
    return [one.sum() for one in losses]


@wrong(caught_by=parts.adds_up_to_the_token_mean)
def sums_over_g(losses):
    return [one.sum() / len(losses) for one in losses]


@wrong(caught_by=parts.adds_up_to_the_token_mean)
def padding_counted(losses):
    widest = max(len(one) for one in losses)
    return [one.sum() / (widest * len(losses)) for one in losses]


@wrong(caught_by=parts.can_be_learnt_from_in_turn)
def whole_over_g(losses):
    return [torch.cat(losses).mean() / len(losses) for _ in losses]


@wrong(caught_by=parts.can_be_learnt_from_in_turn)
def detached(losses):
    return [part.detach() for part in sum_over_count(losses)]


@wrong(caught_by=parts.adds_up_to_the_token_mean)
def nonzero_losses_counted(losses):
    count = sum(int((one != 0).sum()) for one in losses)
    return [one.sum() / count for one in losses]


@wrong(caught_by=parts.works_for_any_micro_batches)
def mean_times_share(losses):
    count = sum(len(one) for one in losses)
    return [one.mean() * len(one) / count for one in losses]


@wrong(caught_by=parts.works_for_any_micro_batches)
def empty_ones_counted(losses):
    count = sum(max(len(one), 1) for one in losses)
    return [one.sum() / count for one in losses]


@wrong(caught_by=parts.gives_one_number_each)
def empty_ones_dropped(losses):
    count = sum(map(len, losses))
    return [one.sum() / count for one in losses if len(one)]


@wrong(caught_by=parts.gives_one_number_each)
def none_for_an_empty_one(losses):
    sums = sum_over_count(losses)
    return [part if len(one) else None for one, part in zip(losses, sums, strict=True)]


@wrong(caught_by=parts.works_for_any_micro_batches)
def no_graph_for_an_empty_one(losses):
    count = sum(map(len, losses))
    return [one.sum() / count if len(one) else torch.tensor(0.0) for one in losses]


@wrong(caught_by=parts.works_for_any_micro_batches)
def in_float32(losses):
    return [one.float().sum() / sum(map(len, losses)) for one in losses]


@wrong(caught_by=parts.gives_one_number_each)
def tensors_of_one(losses):
    return [part.reshape(1) for part in sum_over_count(losses)]


@wrong(caught_by=parts.can_be_learnt_from_in_turn)
def split_after_a_cat(losses):
    share = torch.cat(losses) / sum(map(len, losses))
    return [one.sum() for one in share.split([len(one) for one in losses])]


@wrong(caught_by=parts.can_be_learnt_from_in_turn)
def counted_by_the_losses(losses):
    """The divisor carries the graphs of all micro-batches."""
    count = sum((one * 0 + 1).sum() for one in losses)
    return [one.sum() / count for one in losses]


@wrong(caught_by=parts.every_token_weighs_the_same)
def means_brought_to_size(losses):
    """The right number, and still the weights of a mean of means."""
    parts = means(losses)
    size = torch.cat(losses).mean() / sum(parts)
    return [part * size.detach() for part in parts]
