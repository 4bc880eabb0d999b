"""Answers to exercise 08.1, right and wrong."""

import torch


def sum_over_count(losses):
    count = sum(len(one) for one in losses)
    return [one.sum() / count for one in losses]


def with_a_cat(losses):
    count = torch.cat(losses).numel()
    return tuple(one.sum().div(count) for one in losses)


def with_weights(losses):
    total = 0
    for one in losses:
        total += one.shape[0]
    return [(one * (1.0 / total)).sum(dim=0) for one in losses]


def one_total(losses):
    return torch.cat(losses).mean()


def per_token(losses):
    count = torch.cat(losses).numel()
    return [one / count for one in losses]


def floats(losses):
    return [one.item() for one in sum_over_count(losses)]


def means(losses):
    return [one.mean() for one in losses]


def means_over_g(losses):
    return [one.mean() / len(losses) for one in losses]


def sums(losses):
    return [one.sum() for one in losses]


def sums_over_g(losses):
    return [one.sum() / len(losses) for one in losses]


def padding_counted(losses):
    widest = max(len(one) for one in losses)
    return [one.sum() / (widest * len(losses)) for one in losses]


def whole_over_g(losses):
    return [torch.cat(losses).mean() / len(losses) for _ in losses]


def detached(losses):
    return [part.detach() for part in sum_over_count(losses)]


def nonzero_losses_counted(losses):
    count = sum(int((one != 0).sum()) for one in losses)
    return [one.sum() / count for one in losses]


def mean_times_share(losses):
    count = sum(len(one) for one in losses)
    return [one.mean() * len(one) / count for one in losses]


def empty_ones_counted(losses):
    count = sum(max(len(one), 1) for one in losses)
    return [one.sum() / count for one in losses]
