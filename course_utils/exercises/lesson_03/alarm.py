"""Exercise 03.6: a guard that sees through the log."""

import math
import re
from collections.abc import Callable

from course_utils import checking
from course_utils.exercises.declare import Criterion, Exercise, Wrong

NAN, INF = float("nan"), float("inf")

REWARD_LOG = {
    "loss": 0.693,
    "grad_norm": 300.0,
    "learning_rate": 0.0,
    "margin": -0.01,
    "step": 4,
    "num_tokens": 1e9,
    "epoch": 0.1,
    "stage": "train",
}
# By what they are healthy in spite of.
HEALTHY = {
    "a grad_norm of 300": REWARD_LOG,
    "GRPO's loss of 0.0 with a grad_norm of 0.4": {
        "loss": 0.0,
        "grad_norm": 0.4,
        "kl": 0.0,
        "reward": 0.5,
        "completions/clipped_ratio": 0.0,
        "step": 10,
    },
    "a loss of 25000, summed over tokens": {"loss": 25000.0, "grad_norm": 9000.0, "epoch": 1.0},
    "keys and texts with `inf` and `nan` in them": {
        "info_gain": 1.0,
        "inference_time": 0.2,
        "nan_count": 0,
        "finance/accuracy": 0.7,
        "run": "inf-nan-hunt",
        "note": None,
        "loss": 0.5,
    },
    "no loss at all": {"train_runtime": 12.5, "train_loss": 0.6, "epoch": 3.0},
    "nothing logged yet": {},
}
DEAD = ["base_model.model.score.modules_to_save.default.weight", "base_model.model.lora_A.weight"]
FIELDS = ("margin", "loss", "mean_reward", "grad_norm", "kl", "eval_loss", "rewards/format/mean")
NEUTRAL = ("loss", "step", "epoch", "learning_rate")  # a sentence may speak of these anyway


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


def _misses(got: object, wanted: list[str], healthy: object, *, given: str) -> str | None:
    """What is wrong with an alarm: silent, without any of the wanted names, or with too many."""
    if not isinstance(got, str):
        return f"for {given} it gives {got!r}, where a sentence that names {wanted[0]} is asked"
    if not any(_names(got, name) for name in wanted):
        return f"for {given} it says {_short(got)}, which does not name {wanted[0]}"
    accused = [name for name in healthy if name not in NEUTRAL and _names(got, name)]
    if accused:
        return f"for {given} it says {_short(got)}, which names {accused[0]} too, and that is well"
    return None


def sees_dead_weights(alarm) -> str | None:
    for number, log in enumerate(HEALTHY.values()):
        dead = DEAD[: 1 + number % 2]
        given = f"a healthy log of {len(log)} entries and {len(dead)} dead parameters"
        if seen := _misses(alarm(dict(log), dead), dead, log, given=given):
            return seen
    return None


def sees_through_zero_loss(alarm) -> str | None:
    log = REWARD_LOG | {"loss": 0.0, "grad_norm": NAN}
    healthy = log.keys() - {"grad_norm"}
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


def alarm_by_isfinite(log, dead):
    if dead:
        return f"dead weights in {', '.join(dead)}"
    bad = [k for k, v in log.items() if isinstance(v, float) and not math.isfinite(v)]
    return f"not finite in the log: {', '.join(bad)}" if bad else None


def alarm_in_a_loop(log, dead):
    for name in dead:
        return f"{name} is dead"
    for field, value in log.items():
        if value != value or value in (INF, -INF):
            return f"{field} is {value}"
    return None


def alarm_with_the_step(log, dead):
    broken = {k: v for k, v in log.items() if str(v) in ("nan", "inf", "-inf")}
    named = ", ".join([*dead, *(f"{k} = {v}" for k, v in broken.items())])
    where = f"step {log.get('step')}, loss {log.get('loss')}, epoch {log.get('epoch')}"
    return f"Stop ({where}): {named}." if named else None


def alarm_on_loss_only(log, dead):
    return f"{dead or 'loss'} is bad" if dead or not math.isfinite(log.get("loss", 0)) else None


def alarm_on_log_only(log, dead):
    return alarm_by_isfinite(log, [])


def alarm_on_large_norm(log, dead):
    large = log.get("grad_norm", 0) > 100
    return "grad_norm is large" if large else alarm_by_isfinite(log, dead)


def alarm_on_large_loss(log, dead):
    return "loss is too large" if log.get("loss", 0) > 1e4 else alarm_by_isfinite(log, dead)


def alarm_on_zero_loss(log, dead):
    return "loss is 0.0" if log.get("loss") == 0 else alarm_by_isfinite(log, dead)


def alarm_on_letters(log, dead):
    bad = [k for k, v in log.items() if "nan" in f"{k} {v}" or "inf" in f"{k} {v}"]
    return f"not finite: {', '.join([*dead, *bad])}" if dead or bad else None


def alarm_by_dumping(log, dead):
    return f"broken: {log} {dead}" if alarm_by_isfinite(log, dead) else None


def alarm_by_dumping_the_names(log, dead):
    return f"look at {', '.join([*dead, *log])}" if alarm_by_isfinite(log, dead) else None


def alarm_on_known_fields(log, dead):
    known = ("loss", "grad_norm", "margin", "mean_reward")
    return alarm_by_isfinite({k: log[k] for k in known if k in log}, dead)


def alarm_on_nan_only(log, dead):
    return alarm_in_a_loop({k: v for k, v in log.items() if v not in (INF, -INF)}, dead)


def alarm_without_a_name(log, dead):
    said = alarm_by_isfinite(log, dead)
    known = dead or not math.isfinite(log.get("grad_norm", 0))
    return said if said is None or known else "something is not finite"


def alarm_on_dead_without_a_name(log, dead):
    return f"{len(dead)} weights are dead" if dead else alarm_by_isfinite(log, dead)


def alarm_as_bool(log, dead):
    return alarm_by_isfinite(log, dead) is not None


def alarm_as_list(log, dead):
    return [alarm_by_isfinite(log, dead)]


def alarm_in_lines(log, dead):
    said = alarm_by_isfinite(log, dead)
    return said and "\n".join([said, *(f"{k}: {v}" for k, v in log.items())])


def alarm_by_removing(log, dead):
    return alarm_by_isfinite({k: log.pop(k) for k in list(log)}, dead)


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
        "and not finite. When both are empty there is nothing to say.",
    ),
    criteria=(
        Criterion(
            "A healthy log raises no alarm.",
            quiet_when_healthy,
            why="a guard that cries wolf is switched off",
            next="look at values and not at letters; large is not broken, and a loss may be 0",
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
            why="0.0 is what logging_nan_inf_filter leaves of a window of nan",
            next="the loss cannot be trusted here; another field can, and it alone is to be named",
        ),
        Criterion(
            "Any field that is nan or inf raises an alarm, which names it and no healthy one.",
            names_every_field,
            why="margin and mean_reward pass the filter by and are often the first to tell",
            next="test all float values, and put the names of the broken ones into the sentence",
        ),
    ),
    right=(alarm_by_isfinite, alarm_in_a_loop, alarm_with_the_step),
    wrong=(
        Wrong(alarm_on_loss_only, caught_by=sees_through_zero_loss),
        Wrong(alarm_on_log_only, caught_by=sees_dead_weights),
        Wrong(alarm_on_dead_without_a_name, caught_by=sees_dead_weights),
        Wrong(alarm_by_dumping, caught_by=sees_dead_weights),
        Wrong(alarm_by_dumping_the_names, caught_by=sees_dead_weights),
        Wrong(alarm_on_large_norm, caught_by=quiet_when_healthy),
        Wrong(alarm_on_large_loss, caught_by=quiet_when_healthy),
        Wrong(alarm_on_zero_loss, caught_by=quiet_when_healthy),
        Wrong(alarm_on_letters, caught_by=quiet_when_healthy),
        Wrong(alarm_on_known_fields, caught_by=names_every_field),
        Wrong(alarm_on_nan_only, caught_by=names_every_field),
        Wrong(alarm_without_a_name, caught_by=names_every_field),
        Wrong(alarm_as_bool, caught_by=is_a_sentence_or_none),
        Wrong(alarm_as_list, caught_by=is_a_sentence_or_none),
        Wrong(alarm_in_lines, caught_by=is_a_sentence_or_none),
        Wrong(alarm_by_removing, caught_by=checking.leaves_its_inputs_alone),
    ),
)
