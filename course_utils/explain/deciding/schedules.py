"""Why a learning rate is 0: what is printed of the schedule that gives it."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_UNSET = re.compile(
    r"(?<![a-z])(?:total_training_steps|total_train_steps|num_training_steps|max_train_steps|"
    r"lr_decay_(?:steps|iters)|train_iters|total_steps)['\"]?\s*[:=]\s*['\"]?"
    r"(?:-1|0|none|null)(?![\d.])",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"(?<![a-z_])(?:lr|learning_rate)['\"]?\s*[:=]\s*['\"]?(?!0(?:\.0*)?(?![\d.e]))\d[\d.e-]*",
    re.IGNORECASE,
)
_SHAPE = re.compile(
    r"(?<![a-z])(?:lr_scheduler_type|lr_decay_style|warmup_style)['\"]?\s*[:=]\s*['\"]?\w+",
    re.IGNORECASE,
)
WITHOUT_STEPS = (
    "the learning rate is 0 in every entry, so that nothing is trained: the schedule was made "
    "before the number of steps was known ({}), and so each step lies behind its end, where the "
    "rate is at its lowest"
)
GIVE_STEPS = (
    "give the number of optimizer steps by hand, where this setting is read; a constant schedule "
    "as a test; then a version of the trainer that counts its steps before it makes the schedule"
)


def planned(one: Finding, beside: Beside, log: Log) -> Finding:
    """The rate and the schedule that were asked for, and a number of steps that was never set."""
    found = [beside.matching(pattern) for pattern in (_ASKED, _SHAPE)]
    rows = [_said(*pair) for pair in found if pair]
    unset = beside.matching(_UNSET)
    if unset is None:
        return replace(one, for_it=(*one.for_it, *rows))
    return replace(
        one,
        weight=max(one.weight, 7.5),
        for_it=(*one.for_it, *rows, _said(*unset)),
        why=WITHOUT_STEPS.format(re.sub("['\"]", "", unset[1])),
        advice=GIVE_STEPS,
    )


def _said(line: Line, words: str) -> str:
    return f"{line.where} says: {words}"
