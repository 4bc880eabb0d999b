"""Right and wrong answers of exercise 03.6."""

import math

from course_utils.checks import checking
from course_utils.exercises.lesson_03 import alarm
from course_utils.exercises.lesson_03.alarm import alarm_by_isfinite
from tests.answers import answers_of

right, wrong = answers_of(alarm.ALARM)

INF = float("inf")


@right
def alarm_by_comparing(log, dead):
    bad = [f"{k} is {v}" for k, v in log.items() if v != v or v in (INF, -INF)]
    named = "; ".join([f"{name} is dead" for name in dead] + bad)
    return f"At this step {named}" if named else None


@right
def alarm_with_the_step(log, dead):
    floats = {k: v for k, v in log.items() if isinstance(v, float)}
    broken = {k: v for k, v in floats.items() if str(v) in ("nan", "inf", "-inf")}
    named = ", ".join([*dead, *(f"{k} = {v}" for k, v in broken.items())])
    where = f"step {log.get('step')}, epoch {log.get('epoch')}"
    return f"Stop ({where}): {named}." if named else None


@wrong(caught_by=alarm.names_all_at_once)
def alarm_on_the_dead_first(log, dead):
    if dead:
        return f"dead weights in {', '.join(dead)}"
    return alarm_by_isfinite(log, dead)


@wrong(caught_by=alarm.sees_dead_weights)
def alarm_in_a_loop(log, dead):
    for name in dead:
        return f"{name} is dead"
    for field, value in log.items():
        if value != value or value in (INF, -INF):
            return f"{field} is {value}"
    return None


@wrong(caught_by=alarm.names_all_at_once)
def alarm_on_the_first_field(log, dead):
    said = alarm_in_a_loop(log, [])
    return ", ".join([*dead, *([said] if said else [])]) or None


@wrong(caught_by=alarm.sees_dead_weights)
def alarm_that_blames_the_loss(log, dead):
    if dead:
        return f"loss is inf because of {', '.join(dead)}"
    return alarm_by_isfinite(log, dead)


@wrong(caught_by=alarm.names_every_field)
def alarm_on_loss_and_more(log, dead):
    said = alarm_by_isfinite(log, dead)
    return f"loss is nan, and so are {said}" if said and not dead else said


@wrong(caught_by=alarm.sees_dead_weights)
def alarm_on_step_and_epoch(log, dead):
    said = alarm_by_isfinite(log, dead)
    return said and f"epoch and step are nan: {said}"


@wrong(caught_by=alarm.quiet_when_healthy)
def alarm_below_1e30(log, dead):
    bad = [k for k, v in log.items() if isinstance(v, float) and not abs(v) < 1e30]
    return ", ".join([*dead, *bad]) or None


@wrong(caught_by=alarm.quiet_when_healthy)
def alarm_in_float32(log, dead):
    import torch  # this module is read without it

    values = {k: torch.tensor(v) for k, v in log.items() if isinstance(v, float)}
    return ", ".join([*dead, *(k for k, v in values.items() if not v.isfinite())]) or None


@wrong(caught_by=alarm.quiet_when_healthy)
def alarm_on_texts(log, dead):
    bad = [k for k, v in log.items() if str(v) in ("nan", "inf", "-inf")]
    return ", ".join([*dead, *bad]) or None


@wrong(caught_by=alarm.sees_through_zero_loss)
def alarm_on_loss_only(log, dead):
    return f"{dead or 'loss'} is bad" if dead or not math.isfinite(log.get("loss", 0)) else None


@wrong(caught_by=alarm.sees_dead_weights)
def alarm_on_log_only(log, dead):
    return alarm_by_isfinite(log, [])


@wrong(caught_by=alarm.quiet_when_healthy)
def alarm_on_large_norm(log, dead):
    large = log.get("grad_norm", 0) > 100
    return "grad_norm is large" if large else alarm_by_isfinite(log, dead)


@wrong(caught_by=alarm.quiet_when_healthy)
def alarm_on_large_loss(log, dead):
    return "loss is too large" if log.get("loss", 0) > 1e4 else alarm_by_isfinite(log, dead)


@wrong(caught_by=alarm.quiet_when_healthy)
def alarm_on_zero_loss(log, dead):
    return "loss is 0.0" if log.get("loss") == 0 else alarm_by_isfinite(log, dead)


@wrong(caught_by=alarm.quiet_when_healthy)
def alarm_on_letters(log, dead):
    bad = [k for k, v in log.items() if "nan" in f"{k} {v}" or "inf" in f"{k} {v}"]
    return f"not finite: {', '.join([*dead, *bad])}" if dead or bad else None


@wrong(caught_by=alarm.sees_dead_weights)
def alarm_by_dumping(log, dead):
    return f"broken: {log} {dead}" if alarm_by_isfinite(log, dead) else None


@wrong(caught_by=alarm.sees_dead_weights)
def alarm_by_dumping_the_names(log, dead):
    return f"look at {', '.join([*dead, *log])}" if alarm_by_isfinite(log, dead) else None


@wrong(caught_by=alarm.names_every_field)
def alarm_on_known_fields(log, dead):
    known = ("loss", "grad_norm", "margin", "mean_reward")
    return alarm_by_isfinite({k: log[k] for k in known if k in log}, dead)


@wrong(caught_by=alarm.names_every_field)
def alarm_on_nan_only(log, dead):
    return alarm_by_isfinite({k: v for k, v in log.items() if v not in (INF, -INF)}, dead)


@wrong(caught_by=alarm.names_every_field)
def alarm_without_a_name(log, dead):
    said = alarm_by_isfinite(log, dead)
    known = dead or not math.isfinite(log.get("grad_norm", 0))
    return said if said is None or known else "something is not finite"


@wrong(caught_by=alarm.sees_dead_weights)
def alarm_on_dead_without_a_name(log, dead):
    return f"{len(dead)} weights are dead" if dead else alarm_by_isfinite(log, dead)


@wrong(caught_by=alarm.is_a_sentence_or_none)
def alarm_as_bool(log, dead):
    return alarm_by_isfinite(log, dead) is not None


@wrong(caught_by=alarm.is_a_sentence_or_none)
def alarm_as_list(log, dead):
    return [alarm_by_isfinite(log, dead)]


@wrong(caught_by=alarm.is_a_sentence_or_none)
def alarm_in_lines(log, dead):
    said = alarm_by_isfinite(log, dead)
    return said and "\n".join([said, *(f"{k}: {v}" for k, v in log.items())])


@wrong(caught_by=checking.leaves_its_inputs_alone)
def alarm_by_removing(log, dead):
    return alarm_by_isfinite({k: log.pop(k) for k in list(log)}, dead)


@wrong(caught_by=alarm.sees_dead_weights)
def alarm_that_counts(log, dead):
    num = len(dead) + sum(isinstance(v, float) and not math.isfinite(v) for v in log.values())
    return f"{num} things are broken" if num else None
