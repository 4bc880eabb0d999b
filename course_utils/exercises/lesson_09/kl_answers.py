"""Answers to exercise 09.5, right and wrong."""


def _ratio(logp):
    return (logp - logp.detach()).exp()


def k1(logp, ref_logp):
    return logp - ref_logp


def k2(logp, ref_logp):
    return 0.5 * (logp - ref_logp) ** 2


def k3(logp, ref_logp):
    d = ref_logp - logp
    return d.exp() - d - 1


def score_function(logp, ref_logp):
    return (logp - ref_logp).detach() * logp


def k1_times_ratio(logp, ref_logp):
    return _ratio(logp) * k1(logp, ref_logp)


def k3_times_ratio(logp, ref_logp):
    return _ratio(logp) * k3(logp, ref_logp)


def k2_times_ratio(logp, ref_logp):
    return _ratio(logp) * k2(logp, ref_logp)


def a_float(logp, ref_logp):
    return k2(logp, ref_logp).mean().item()


def the_mean(logp, ref_logp):
    return k2(logp, ref_logp).mean()


def detached(logp, ref_logp):
    return k2(logp, ref_logp).detach()


def k1_reversed(logp, ref_logp):
    return ref_logp - logp


def k3_reversed(logp, ref_logp):
    d = logp - ref_logp
    return d.exp() - d - 1


def absolute(logp, ref_logp):
    return (logp - ref_logp).abs()


def upwards(logp, ref_logp):
    return -k2(logp, ref_logp)


def k2_clamped(logp, ref_logp):
    return 0.5 * (logp - ref_logp).clamp(-0.5, 0.5) ** 2


def k2_at_most_10(logp, ref_logp):
    return k2(logp, ref_logp).clamp(max=10)


def k2_at_most_50(logp, ref_logp):
    return k2(logp, ref_logp).clamp(max=50)


def square(logp, ref_logp):
    return (logp - ref_logp) ** 2


def tenth(logp, ref_logp):
    return 0.1 * k2(logp, ref_logp)
