"""Exercise 03.6: a guard that sees through the log."""

import math
from collections.abc import Callable

from course_utils.exercises.declare import Criterion, Exercise, Wrong

NAN, INF = float("nan"), float("inf")

HEALTHY_LOG = {
    "loss": 0.693,
    "grad_norm": 300.0,
    "learning_rate": 0.0,
    "margin": -0.01,
    "step": 4,
    "num_tokens": 1e9,
    "epoch": 0.1,
    "stage": "train",
}


def quiet_when_healthy(alarm) -> str | None:
    got = alarm(HEALTHY_LOG, [])
    return None if got is None else f"for a healthy log with grad_norm 300 it says {got!r}"


def _must_say(got: object, word: str, *, given: str) -> str | None:
    if isinstance(got, str) and word in got:
        return None
    return f"for {given} it gives {got!r}, where a sentence with {word!r} in it is asked"


def sees_dead_weights(alarm) -> str | None:
    got = alarm(HEALTHY_LOG, ["score.weight"])
    return _must_say(got, "score.weight", given="a healthy log and one dead parameter")


def sees_through_zero_loss(alarm) -> str | None:
    got = alarm(HEALTHY_LOG | {"loss": 0.0, "grad_norm": NAN}, [])
    return _must_say(got, "grad_norm", given="loss 0.0 with grad_norm nan")


def names_every_field(alarm) -> str | None:
    for field in ("margin", "loss", "mean_reward"):
        for value in (NAN, INF, -INF):
            got = alarm(HEALTHY_LOG | {field: value}, [])
            seen = _must_say(got, field, given=f"{field} {value}")
            if seen:
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


def alarm_on_loss_only(log, dead):
    return f"{dead or 'loss'} is bad" if dead or not math.isfinite(log["loss"]) else None


def alarm_on_log_only(log, dead):
    return alarm_by_isfinite(log, [])


def alarm_on_large_norm(log, dead):
    return "grad_norm is large" if log["grad_norm"] > 100 else alarm_by_isfinite(log, dead)


def alarm_on_nan_only(log, dead):
    return alarm_in_a_loop({k: v for k, v in log.items() if v not in (INF, -INF)}, dead)


def alarm_without_a_name(log, dead):
    said = alarm_by_isfinite(log, dead)
    known = dead or not math.isfinite(log["grad_norm"])
    return said if said is None or known else "something is not finite"


ALARM = Exercise(
    id="03.6",
    name="ALARM",
    title="A guard that would have stopped the run",
    minutes=8,
    difficulty="a small function",
    points=3,
    reads="alarm",
    expects=(Callable,),
    hints=(
        "In the log of the dead run, which fields told the truth?",
        "Any float in the log may be nan or inf, not only the loss: go through all of them.",
        "First the dead parameters, then every value of the log that is a float and not finite; "
        "return a sentence that names it, else None.",
    ),
    criteria=(
        Criterion(
            "A healthy log raises no alarm.",
            quiet_when_healthy,
            why="a guard that cries wolf is switched off",
            next="return None when nothing is wrong; a grad_norm of 300 is large, not broken",
        ),
        Criterion(
            "Dead weights raise an alarm even when the log looks healthy.",
            sees_dead_weights,
            why="after the first step the log is still clean and the head is already gone",
            next="look at dead before you look at the log",
        ),
        Criterion(
            "loss 0.0 with grad_norm nan raises an alarm.",
            sees_through_zero_loss,
            why="0.0 is what logging_nan_inf_filter leaves of a window of nan",
            next="the loss cannot be trusted here; another field can",
        ),
        Criterion(
            "Any field that is nan or inf raises an alarm, and the alarm names it.",
            names_every_field,
            why="margin and mean_reward pass the filter by and are often the first to tell",
            next="test all float values, and put the field's name into the sentence",
        ),
    ),
    right=(alarm_by_isfinite, alarm_in_a_loop),
    wrong=(
        Wrong(alarm_on_loss_only, caught_by=sees_through_zero_loss),
        Wrong(alarm_on_log_only, caught_by=sees_dead_weights),
        Wrong(alarm_on_large_norm, caught_by=quiet_when_healthy),
        Wrong(alarm_on_nan_only, caught_by=names_every_field),
        Wrong(alarm_without_a_name, caught_by=names_every_field),
    ),
)
