"""Right and wrong answers of exercise 09.5."""

from course_utils.exercises.lesson_09 import kl
from course_utils.exercises.lesson_09.kl import k2
from tests.answers import answers_of

right, wrong = answers_of(kl.KL)


def _ratio(logp):
    return (logp - logp.detach()).exp()


@wrong(caught_by=kl.points_down_the_kl)
def k1(logp, ref_logp):
    return logp - ref_logp


@wrong(caught_by=kl.points_down_the_kl)
def k3(logp, ref_logp):
    d = ref_logp - logp
    return d.exp() - d - 1


@right
def score_function(logp, ref_logp):
    return (logp - ref_logp).detach() * logp


@right
def k1_times_ratio(logp, ref_logp):
    return _ratio(logp) * k1(logp, ref_logp)


@right
def k3_times_ratio(logp, ref_logp):
    return _ratio(logp) * k3(logp, ref_logp)


@wrong(caught_by=kl.points_down_the_kl)
def k2_times_ratio(logp, ref_logp):
    return _ratio(logp) * k2(logp, ref_logp)


@wrong(caught_by=kl.gives_one_number_a_token)
def a_float(logp, ref_logp):
    return k2(logp, ref_logp).mean().item()


@wrong(caught_by=kl.gives_one_number_a_token)
def the_mean(logp, ref_logp):
    return k2(logp, ref_logp).mean()


@wrong(caught_by=kl.has_a_graph)
def detached(logp, ref_logp):
    return k2(logp, ref_logp).detach()


@wrong(caught_by=kl.points_down_the_kl)
def k1_reversed(logp, ref_logp):
    return ref_logp - logp


@wrong(caught_by=kl.points_down_the_kl)
def k3_reversed(logp, ref_logp):
    d = logp - ref_logp
    return d.exp() - d - 1


@wrong(caught_by=kl.points_down_the_kl)
def absolute(logp, ref_logp):
    return (logp - ref_logp).abs()


@wrong(caught_by=kl.points_down_the_kl)
def upwards(logp, ref_logp):
    return -k2(logp, ref_logp)


@wrong(caught_by=kl.points_down_the_kl)
def k2_clamped(logp, ref_logp):
    return 0.5 * (logp - ref_logp).clamp(-0.5, 0.5) ** 2


@wrong(caught_by=kl.points_down_the_kl)
def k2_at_most_10(logp, ref_logp):
    return k2(logp, ref_logp).clamp(max=10)


@wrong(caught_by=kl.points_down_the_kl)
def k2_at_most_50(logp, ref_logp):
    return k2(logp, ref_logp).clamp(max=50)


@wrong(caught_by=kl.has_the_right_length)
def square(logp, ref_logp):
    return (logp - ref_logp) ** 2


@wrong(caught_by=kl.has_the_right_length)
def tenth(logp, ref_logp):
    return 0.1 * k2(logp, ref_logp)
