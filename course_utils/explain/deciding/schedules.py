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
_BY_PROCESSES = re.compile(
    r"//? ?\(?[^#=]*\b(?:accelerator\.num_processes|num_processes|world_size)\b"
)
_PREPARED = re.compile(r"\baccelerator\.prepare\([^#]*\b\w*sched\w*")
STEPPED_BY_EACH = (
    "the schedule runs out early by the number of processes: a scheduler that accelerator.prepare "
    "got steps once for each process at every update, and the number of steps that it was made for "
    "is divided by the processes already. Warm-up and decay are over after 1/processes of the run, "
    "and then the learning rate is 0"
)
OF_ALL = (
    "make the schedule for the steps of all processes (num_training_steps = epochs * "
    "len(dataloader) // gradient_accumulation_steps, taken before prepare and not divided by "
    "num_processes), or do not give the scheduler to prepare; then see that the warm-up ends where "
    "it was planned. Sharding is not to blame"
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


def stepped_by_each(one: Finding, beside: Beside, log: Log) -> Finding:
    """A number of steps that is divided by the processes, each of which steps the schedule."""
    divided, prepared = beside.matching(_BY_PROCESSES), beside.matching(_PREPARED)
    if not (divided and prepared):
        return one
    return replace(
        one,
        weight=max(one.weight, 8.0),
        for_it=(*one.for_it, divided[0].says, prepared[0].says),
        why=STEPPED_BY_EACH,
        advice=OF_ALL,
    )


def _said(line: Line, words: str) -> str:
    return f"{line.where} says: {words}"
