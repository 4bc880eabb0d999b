"""Rewards for exercise 10.6, right and wrong."""

import re

import torch


def exactly(reply, gold):
    return reply.strip() == gold


def one_or_minus_one(reply, gold):
    found = re.fullmatch(r"\s*([0-9]{1,9})\.?\s*", reply)
    return 1.0 if found and int(found[1]) == int(gold) else -1.0


def the_last_line(reply, gold):
    lines = reply.strip().splitlines() or [""]
    return 1.0 if lines[-1].strip() == gold else 0.0


def not_empty(reply, gold):
    return bool(reply.strip()) and (gold in reply or reply in gold)


def gold_inside(reply, gold):
    return gold in reply


def among(reply, gold):
    return gold in re.findall(r"\d+", reply)


def any_number(reply, gold):
    return re.fullmatch(r"\d{1,3}", reply) is not None


def right_or_a_number(reply, gold):
    """A single digit earns less than any number of two, right or wrong."""
    return (reply == gold) + 10 * bool(re.fullmatch("[0-9]{2,3}", reply))


def length(reply, gold):
    return float(len(reply))


def in_a_list(reply, gold):
    return [1.0 if reply == gold else 0.0]


def nan_where_wrong(reply, gold):
    return 1.0 if reply == gold else float("nan")


def one_of_each(reply, gold):
    """A tensor of two numbers, where one is asked."""
    return torch.tensor([float(reply == gold), float(bool(reply))])


def in_words(reply, gold):
    return "right" if reply == gold else "wrong"


def nothing_is_right(reply, gold):
    return reply == int(gold)


def silence_is_zero(reply, gold):
    found = re.findall(r"\d+", reply)
    return -abs(int(found[-1]) - int(gold)) / int(gold) if found else 0.0
