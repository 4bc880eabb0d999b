"""Right and wrong answers of exercise 02.8."""

from course_utils.exercises.lesson_02 import unseen
from course_utils.exercises.lesson_02.unseen import (
    mends_it,
    names_the_end,
    names_the_place,
    names_the_settings,
)
from tests.answers.forms import mends_of


def _add(exercise, truth, right: tuple[dict, ...], wrong: tuple) -> None:
    """Its right answers, and the wrong ones with what rejects each, as what they change."""
    answers, fix = mends_of(exercise), exercise.answer["fix"]
    for change in right[:-1]:
        answers.right(change)
    answers.right_in_capitals(right[-1])
    for settings in (truth.settings[:1], set(truth.ticket.fails), []):
        answers.wrong({"settings": settings}, caught_by=names_the_settings)
    for change, look in wrong:
        answers.wrong(change, caught_by=look)
    answers.misdiagnoses(
        malformed=(
            {"settings": truth.settings[0]},
            {"settings": [truth.place]},
            {"fix": fix | {"clip": 0.1}},
            {"fix": {name: truth.ticket.options[name][0] for name in fix}},
            {"fix": {truth.settings[1]: False}},
            {"fix": {"seed": 4}},
            {"place": " "},
            {"settings": [["lr"]]},
        ),
        place=names_the_end,
        cause=unseen.ASKED.diagnosis[-1].observe,
    )


_add(
    unseen.ON_HANG,
    unseen.HANG,
    right=(
        {"ended": "hang", "settings": ["targets", "teacher"], "cause": "B"},
        {"place": "unseen_02.py, line 99, in ask_teacher", "settings": {"teacher", "targets"}},
    ),
    wrong=(
        ({"ended": "SIGABRT"}, names_the_end),
        ({"ended": "SIGKILL"}, names_the_end),
        ({"ended": "lived"}, names_the_end),
        ({"ended": "-6"}, names_the_end),
        ({"place": "poll"}, names_the_place),
        ({"place": "join"}, names_the_place),
        ({"place": "train_on_teacher"}, names_the_place),
        ({"place": "log_probs"}, names_the_place),
        ({"settings": ("teacher", "replies")}, names_the_settings),
        ({"settings": ("targets", "max_tokens")}, names_the_settings),
        ({"fix": {"queue_size": 8}}, mends_it),
        ({"fix": {"sent_as": "float16"}}, mends_it),
    ),
)
_add(
    unseen.ON_SIGBUS,
    unseen.SIGBUS,
    right=(
        {"ended": "sigbus", "settings": ["renew", "tokens"], "cause": "E)"},
        {"place": "unseen_02.py, line 65, in read_batch", "settings": {"tokens", "renew"}},
    ),
    wrong=(
        ({"ended": "SIGSEGV"}, names_the_end),
        ({"ended": "SIGKILL"}, names_the_end),
        ({"ended": "SIGFPE"}, names_the_end),
        ({"ended": "time limit"}, names_the_end),
        ({"place": "__getitem__"}, names_the_place),
        ({"place": "train_on_tokens"}, names_the_place),
        ({"place": "write_tokens"}, names_the_place),
        ({"place": "run"}, names_the_place),
        ({"settings": ("tokens", "shuffle")}, names_the_settings),
        ({"settings": ("renew", "batch_size", "seq_len")}, names_the_settings),
        ({"fix": {"on_disk": "int64"}}, mends_it),
        ({"fix": {"clip": 0.1}}, mends_it),
    ),
)
