"""Mends for the three unseen scripts of lesson 10, right and wrong."""

import json
import re

from course_utils.reproductions.lesson_10.unseen_10 import reward_by_distance, settings


def pays_the_sum(reply, gold):
    return 1.0 if reply.strip() == gold else 0.0


def pays_the_number(reply, gold):
    found = re.fullmatch(r"\s*([0-9]{1,9})\.?\s*", reply)
    return float(found is not None and int(found[1]) == int(gold))


def pays_json_that_is_a_number(reply, gold):
    try:
        return 1.0 if json.loads(reply) == int(gold) else 0.0
    except ValueError:
        return 0.0


def silence_is_worst(reply, gold):
    """The script's own reward with one number changed."""
    found = re.findall(r"[0-9]+", reply)
    if not found:
        return -1.0
    return -abs(int(found[-1]) - int(gold)) / max(int(gold), 1)


def pays_nearness(reply, gold):
    found = re.findall(r"[0-9]+", reply)
    return 1 / (1 + abs(int(found[-1]) - int(gold))) if found else 0.0


def distance_with_an_offset(reply, gold):
    return 1.0 + reward_by_distance(reply, gold)


def pays_any_attempt(reply, gold):
    return 1.0 if re.search("[0-9]", reply) else 0.0


def pays_a_hair_more(reply, gold):
    """More for a right reply, by less than float32 can hold beside a half."""
    return 0.5 + 1e-9 * (reply.strip() == gold)


def json_or_a_half(reply, gold):
    try:
        return 1.0 if json.loads(reply)["answer"] == int(gold) else 0.0
    except (KeyError, TypeError, ValueError):
        return 0.5


def json_or_nothing(reply, gold):
    try:
        return 1.0 if json.loads(reply)["answer"] == int(gold) else 0.0
    except (KeyError, TypeError, ValueError):
        return 0.0


def pays_the_beginning(reply, gold):
    return float(gold.startswith(reply) and len(reply) == 2)


def settings_with_room():
    return settings() | {"max_completion_length": 16}


def settings_by_hand():
    return dict(temperature=1.0, max_completion_length=8, learning_rate=1e-4)


def settings_with_little_room():
    return settings() | {"max_completion_length": 3}


def settings_hotter():
    return {"learning_rate": 1e-4, "max_completion_length": 2, "temperature": 2.0}


def settings_with_room_and_a_rate():
    return {"learning_rate": 1e-3, "max_completion_length": 8, "temperature": 1.0}


def settings_as_a_list():
    return list(settings().items())
