"""Exercise 03.6: a guard that sees through the log."""

import math
import re
from collections.abc import Callable, Iterable

from course_utils.checks.declare import Criterion, Exercise

NAN, INF = float("nan"), float("inf")

REWARD_LOG = {
    "loss": 0.693,
    "grad_norm": 300.0,
    "learning_rate": 0.0,
    "margin": -0.01,
    "step": 4,
    "num_tokens": 1e9,
    "epoch": 0.1,
    "split_name": "train",
}
# By what they are healthy in spite of.
HEALTHY = {
    "a grad_norm of 300": REWARD_LOG,
    "GRPO's loss of 0.0 with a grad_norm of 0.4": {
        "loss": 0.0,
        "grad_norm": 0.4,
        "kl": 0.0,
        "reward_std": 0.5,
        "completions/clipped_ratio": 0.0,
        "step": 10,
    },
    "a loss of 25000, summed over tokens": {"loss": 25000.0, "grad_norm": 9000.0, "epoch": 1.0},
    "a loss of 1.19e34 and an entropy of 1e39": {"loss": 1.19e34, "entropy": 1e39, "step": 25},
    "keys and texts with `inf` and `nan` in them": {
        "info_gain": 1.0,
        "inference_time": 0.2,
        "nan_count": 0,
        "finance/accuracy": 0.7,
        "run_name": "inf-nan-hunt",
        "previous_loss": "nan",
        "hub_url": None,
        "loss": 0.5,
    },
    "no loss at all": {"train_runtime": 12.5, "train_loss": 0.6, "epoch": 3.0},
    "nothing logged yet": {},
}
DEAD = ["base_model.model.score.modules_to_save.default.weight", "base_model.model.lora_A.weight"]
FIELDS = ("margin", "loss", "mean_reward", "grad_norm", "kl", "eval_loss", "rewards/format/mean")
# A sentence may say where it happened: "step 4", "epoch = 0.1", "at this step".
PLACE = re.compile(
    r"\b(step|epoch)\W{1,3}(\d|None)|\b(at|in|after|before|this|first|next|every) (step|epoch)\b",
    re.IGNORECASE,
)


def is_a_sentence_or_none(alarm) -> str | None:
    for log, dead, given in (
        (REWARD_LOG, [], "a healthy log"),
        (REWARD_LOG | {"loss": NAN}, [], "a log with loss nan"),
    ):
        got = alarm(dict(log), list(dead))
        if got is not None and not isinstance(got, str):
            kind = type(got).__name__
            return f"for {given} it gives {got!r}, a {kind}, where a sentence or None is asked"
        if got is not None and len(got.strip().splitlines()) > 1:
            return f"for {given} it gives {len(got.splitlines())} lines, where a sentence is asked"
    return None


def quiet_when_healthy(alarm) -> str | None:
    for trait, log in HEALTHY.items():
        got = alarm(dict(log), [])
        if got is not None:
            return f"for a healthy log with {trait} it says {_short(got)}"
    return None


def _names(text: str, field: str) -> bool:
    return re.search(rf"(?<![\w/]){re.escape(field)}(?![\w/])", text, re.IGNORECASE) is not None


def _short(text: object) -> str:
    return repr(text) if len(repr(text)) <= 90 else f"{repr(text)[:87]}..."


def _counted(dead: list[str]) -> str:
    return "1 dead weight" if len(dead) == 1 else f"{len(dead)} dead weights"


def _misses(got: object, wanted: list[str], healthy: Iterable[str], *, given: str) -> str | None:
    """What is wrong with an alarm: silent, without one of the wanted names, or with too many."""
    if not isinstance(got, str):
        return f"for {given} it gives {got!r}, where a sentence that names {wanted[0]} is asked"
    if missing := [name for name in wanted if not _names(got, name)]:
        return f"for {given} it says {_short(got)}, which does not name {missing[0]}"
    said = PLACE.sub("", got)
    if accused := [name for name in healthy if _names(said, name)]:
        return (
            f"for {given} it says {_short(got)}, which also names {accused[0]}, and that is healthy"
        )
    return None


def sees_dead_weights(alarm) -> str | None:
    for number, log in enumerate(HEALTHY.values()):
        dead = DEAD[: 1 + number % 2]
        given = f"a healthy log of {len(log)} entries and {_counted(dead)}"
        if seen := _misses(alarm(dict(log), dead), dead, log, given=given):
            return seen
    return None


def sees_through_zero_loss(alarm) -> str | None:
    log = REWARD_LOG | {"loss": 0.0, "grad_norm": NAN}
    healthy = log.keys() - {"grad_norm", "loss"}  # a word on the loss of 0.0 is in its place
    return _misses(alarm(log, []), ["grad_norm"], healthy, given="loss 0.0 with grad_norm nan")


def names_every_field(alarm) -> str | None:
    for number, field in enumerate(FIELDS):
        for value in (NAN, INF, -INF):
            base = list(HEALTHY.values())[number % len(HEALTHY)]
            first, log = {field: value} | base, dict(base)
            log = first | {field: value} if number % 2 else log | {field: value}
            given = f"{field} {value}"
            if seen := _misses(alarm(log, []), [field], base.keys() - {field}, given=given):
                return seen
    return None


def names_all_at_once(alarm) -> str | None:
    for base in HEALTHY.values():
        broken = {"margin": NAN, "kl": INF, "eval_loss": -INF}
        log, wanted, healthy = base | broken, list(broken), base.keys() - broken.keys()
        given = "margin nan, kl inf and eval_loss -inf"
        if seen := _misses(alarm(dict(log), []), wanted, healthy, given=given):
            return seen
        given = f"{given}, and {_counted(DEAD[:1])}"
        if seen := _misses(alarm(dict(log), DEAD[:1]), [*DEAD[:1], *wanted], healthy, given=given):
            return seen
    return None


def alarm_by_isfinite(log, dead):
    bad = [k for k, v in log.items() if isinstance(v, float) and not math.isfinite(v)]
    return f"not finite: {', '.join([*dead, *bad])}" if dead or bad else None


ALARM = Exercise(
    id="03.6",
    name="ALARM",
    title="A guard that would have stopped the run",
    minutes=8,
    difficulty="a small function",
    points=3,
    reads="alarm",
    expects=(Callable,),
    form=is_a_sentence_or_none,
    hints=(
        "In the log of the dead run, which fields told the truth?",
        "Any float in the log may be nan or inf, not only the loss: go through all of them.",
        "Collect two lists of names: the dead parameters, and the fields whose value is a float "
        "and not finite. If both are empty, return None.",
    ),
    criteria=(
        Criterion(
            "A healthy log raises no alarm.",
            quiet_when_healthy,
            why="people turn off a guard that gives false alarms",
            next="test values, not letters; large is not broken, and a loss may be 0",
        ),
        Criterion(
            "Dead weights raise an alarm even when the log looks healthy.",
            sees_dead_weights,
            why="after the first step the log is still clean and the head is already gone",
            next="look at dead before you look at the log, and name what is in it",
        ),
        Criterion(
            "loss 0.0 with grad_norm nan raises an alarm.",
            sees_through_zero_loss,
            why="logging_nan_inf_filter turns a window of nan into 0.0",
            next="the loss cannot be trusted here; another field can, and it alone is to be named",
        ),
        Criterion(
            "Any field that is nan or inf raises an alarm, which names it and no healthy one.",
            names_every_field,
            why="the filter does not touch margin and mean_reward; they often show it first",
            next="test all float values, and put the names of the broken ones into the sentence",
        ),
        Criterion(
            "Everything that is broken at once is named in one sentence.",
            names_all_at_once,
            why="one step broke all of them; the whole list tells you where",
            next="continue after the first name, and do not let dead weights hide the log",
        ),
    ),
    answer=alarm_by_isfinite,
)
