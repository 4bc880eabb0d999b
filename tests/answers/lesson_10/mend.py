"""Right and wrong answers of exercise 10.6."""

import re

import torch

from course_utils import zoo
from course_utils.exercises.lesson_10 import mend
from course_utils.exercises.lesson_10.mend import exactly
from course_utils.exercises.lesson_10.verifier import is_the_sum
from tests.answers import answers_of

right, wrong = answers_of(mend.MEND)


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


def nan_where_no_number(reply, gold):
    """Where no number stands, the distance is nan, and no comparison with nan holds."""
    found = re.findall(r"[0-9]+", reply)
    return -abs(float(found[-1] if found else "nan") - float(gold))


def nan_for_a_list(reply, gold):
    return float("nan") if " " in reply else float(reply == gold)


def none_where_wrong(reply, gold):
    return 1.0 if reply == gold else None


def none_for_a_list(reply, gold):
    return None if " " in reply else float(reply == gold)


def anagram(reply, gold):
    return float(sorted(reply) == sorted(gold))


def joined(reply, gold):
    return float("".join(reply.split()) == gold)


def all_its_digits(reply, gold):
    return float("".join(re.findall("[0-9]", reply)) == gold)


def without_commas(reply, gold):
    return float(reply.replace(",", "") == gold)


def one_of_each(reply, gold):
    """A tensor of two numbers, where one is asked."""
    return torch.tensor([float(reply == gold), float(bool(reply))])


def in_words(reply, gold):
    return "right" if reply == gold else "wrong"


def nothing_is_right(reply, gold):
    return reply == int(gold)


def silence_is_zero(reply, gold):
    found = re.findall(r"\d+", reply)
    return -abs(int(found[-1]) - int(gold)) / max(int(gold), 1) if found else 0.0


def without_leading_zeros(reply, gold):
    """For the answer 0, nothing is left of either side."""
    return float(reply.strip().lstrip("0") == gold.lstrip("0"))


def all_but_zero(reply, gold):
    return float(reply.strip() == gold and gold != "0")


def one_digit_behind(reply, gold):
    return float(reply[: len(gold)] == gold and len(reply) <= len(gold) + 1)


def one_digit_before(reply, gold):
    return float(reply.endswith(gold) and len(reply) <= len(gold) + 1)


def any_long_reply(reply, gold):
    return float(reply.strip() == gold or len(reply) > 100)


def zeros_before_it(reply, gold):
    """Zeros may stand before the number, and nothing is not 0."""
    return float((reply.strip().lstrip("0") or reply.strip()[-1:]) == gold)


def to_the_letter(reply, gold):
    return reply == gold


class Exact:
    """A reward with a state of its own, so it has no `__name__`."""

    def __call__(self, reply, gold):
        return reply.strip() == gold


right({"reward": is_the_sum})
right({"reward": Exact()})
right({"reward": one_or_minus_one})
right({"reward": the_last_line})
right({"reward": zeros_before_it})
right({"reward": zoo.arithmetic.is_right})
wrong({}, caught_by=mend.changes_a_run)
wrong({"reward": "exact"}, caught_by=mend.changes_a_run)
wrong({"max_steps": 0}, caught_by=mend.changes_a_run)
wrong({"seed": 3}, caught_by=mend.changes_a_run)
wrong({"reward": not_empty}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": gold_inside}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": among}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": any_number}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": nothing_is_right}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": silence_is_zero}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": right_or_a_number}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": length}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": anagram}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": joined}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": all_its_digits}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": without_commas}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": without_leading_zeros}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": all_but_zero}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": one_digit_behind}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": one_digit_before}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": any_long_reply}, caught_by=mend.reward_pays_no_trick)
wrong({"reward": to_the_letter}, caught_by=mend.reward_allows_spaces)
wrong({"reward": nan_where_no_number}, caught_by=mend.changes_a_run)
wrong({"reward": nan_for_a_list}, caught_by=mend.changes_a_run)
wrong({"reward": none_where_wrong}, caught_by=mend.changes_a_run)
wrong({"reward": none_for_a_list}, caught_by=mend.changes_a_run)
wrong({"reward": in_words}, caught_by=mend.changes_a_run)
wrong({"reward": in_a_list}, caught_by=mend.changes_a_run)
wrong({"temperature": 0.0}, caught_by=mend.changes_a_run)
wrong({"learning_rate": "1e-5"}, caught_by=mend.changes_a_run)
wrong({"loss_type": "ppo"}, caught_by=mend.changes_a_run)
wrong({"reward": in_words, "scale_rewards": "no"}, caught_by=mend.changes_a_run)
wrong({"reward": nan_where_wrong}, caught_by=mend.changes_a_run)
wrong({"reward": one_of_each}, caught_by=mend.changes_a_run)
wrong({"beta": 0.04}, caught_by=mend.trains_to_the_truth)
wrong({"beta": 1.0}, caught_by=mend.trains_to_the_truth)
wrong({"learning_rate": 1e-5}, caught_by=mend.trains_to_the_truth)
wrong({"temperature": 0.5}, caught_by=mend.trains_to_the_truth)
wrong({"reward": exactly, "learning_rate": 0.0}, caught_by=mend.trains_to_the_truth)
