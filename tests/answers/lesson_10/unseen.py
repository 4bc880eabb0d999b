"""Right and wrong answers of exercise 10.8."""

import json
import re

from course_utils.exercises.lesson_10 import unseen
from course_utils.exercises.lesson_10.verifier import is_the_sum
from course_utils.reproductions.lesson_10 import unseen_10
from course_utils.reproductions.lesson_10.unseen_10 import reward_by_distance, settings
from tests.answers.forms import mends_of

silence = mends_of(unseen.SILENCE)
room = mends_of(unseen.ROOM)
average = mends_of(unseen.AVERAGE)


@average.right
def pays_json_that_is_a_number(reply, gold):
    try:
        return 1.0 if json.loads(reply) == int(gold) else 0.0
    except ValueError:
        return 0.0


@silence.right
def silence_is_worst(reply, gold):
    """The script's own reward with one number changed."""
    found = re.findall(r"[0-9]+", reply)
    if not found:
        return -1.0
    return -abs(int(found[-1]) - int(gold)) / max(int(gold), 1)


@silence.right_in_capitals
def pays_nearness(reply, gold):
    found = re.findall(r"[0-9]+", reply)
    return 1 / (1 + abs(int(found[-1]) - int(gold))) if found else 0.0


@silence.wrong(caught_by=unseen.nothing_else_changes)
def distance_with_an_offset(reply, gold):
    return 1.0 + reward_by_distance(reply, gold)


@silence.wrong(caught_by=unseen.nothing_else_changes)
def pays_any_attempt(reply, gold):
    return 1.0 if re.search("[0-9]", reply) else 0.0


@silence.wrong(caught_by=unseen.run_gets_better)
@average.wrong(caught_by=unseen.run_gets_better)
def pays_a_hair_more(reply, gold):
    """More for a right reply, by less than float32 can hold beside a half."""
    return 0.5 + 1e-9 * (reply.strip() == gold)


@average.wrong(caught_by=unseen.nothing_else_changes)
def json_or_a_half(reply, gold):
    try:
        return 1.0 if json.loads(reply)["answer"] == int(gold) else 0.0
    except (KeyError, TypeError, ValueError):
        return 0.5


@average.wrong(caught_by=unseen.nothing_else_changes)
def json_or_nothing(reply, gold):
    try:
        return 1.0 if json.loads(reply)["answer"] == int(gold) else 0.0
    except (KeyError, TypeError, ValueError):
        return 0.0


@silence.wrong(caught_by=unseen.nothing_else_changes)
@average.wrong(caught_by=unseen.nothing_else_changes)
def pays_an_anagram(reply, gold):
    return float(sorted(reply) == sorted(gold))


@silence.wrong(caught_by=unseen.nothing_else_changes)
@average.wrong(caught_by=unseen.nothing_else_changes)
def pays_joined_digits(reply, gold):
    return float("".join(reply.split()) == gold)


@silence.wrong(caught_by=unseen.nothing_else_changes)
@average.wrong(caught_by=unseen.nothing_else_changes)
def pays_silence_for_zero(reply, gold):
    return float(reply.strip().lstrip("0") == gold.lstrip("0"))


@silence.wrong(caught_by=unseen.nothing_else_changes)
def nan_where_no_number_stands(reply, gold):
    found = re.findall(r"[0-9]+", reply)
    return -abs(float(found[-1] if found else "nan") - float(gold))


@average.wrong(caught_by=unseen.nothing_else_changes)
def nan_where_json_fails(reply, gold):
    try:
        return float(json.loads(reply) == int(gold))
    except ValueError:
        return float("nan")


@silence.wrong(caught_by=unseen.nothing_else_changes)
@average.wrong(caught_by=unseen.nothing_else_changes)
def none_where_it_is_wrong(reply, gold):
    return 1.0 if reply.strip() == gold else None


def pays_the_beginning(reply, gold):
    return float(gold.startswith(reply) and len(reply) == 2)


@room.right
def settings_with_room():
    return settings() | {"max_completion_length": 16}


@room.right_in_capitals
def settings_by_hand():
    return dict(temperature=1.0, max_completion_length=8, learning_rate=1e-4)


@room.wrong(caught_by=unseen.run_gets_better)
def settings_with_little_room():
    return settings() | {"max_completion_length": 3}


@room.wrong(caught_by=unseen.nothing_else_changes)
def settings_hotter():
    return {"learning_rate": 1e-4, "max_completion_length": 2, "temperature": 2.0}


@room.wrong(caught_by=unseen.nothing_else_changes)
def settings_with_room_and_a_rate():
    return {"learning_rate": 1e-3, "max_completion_length": 8, "temperature": 1.0}


@room.wrong(caught_by=unseen.nothing_else_changes)
def settings_as_a_list():
    return list(settings().items())


silence.misdiagnoses(
    unmended=unseen.nothing_else_changes, elsewhere={"place": "settings", "fix": unseen_10.settings}
)
room.misdiagnoses(
    unmended=unseen.run_gets_better, elsewhere={"place": "reward", "fix": pays_the_beginning}
)
average.right_in_capitals(is_the_sum)
average.misdiagnoses(
    unmended=unseen.nothing_else_changes, elsewhere={"place": "sums", "fix": unseen_10.sums}
)
