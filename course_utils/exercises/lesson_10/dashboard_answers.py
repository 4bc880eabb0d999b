"""Answers to exercise 10.6, right and wrong."""

from statistics import mean


def by_gradients(log):
    if max(log["grad_norm"]) == 0:
        return "cut off" if mean(log["cut"]) > 0.3 else "no signal"
    if max(log["grad_norm"]) < 0.02:
        return "rounding"
    return "learns" if log["held_out"][-1] > log["held_out"][0] else "hacked"


def by_range_of_rewards(log):
    if min(log["zero_std"]) == 1:
        return "cut off" if log["cut"][0] > 0.1 and log["cut"][-1] > 0.1 else "no signal"
    if max(log["reward_std"]) < 1e-6:
        return "rounding"
    return "learns" if log["held_out"][-1] >= 0.7 else "hacked"


def by_a_table(log):
    rules = (
        ("cut off", sum(log["grad_norm"]) == 0 and max(log["cut"]) > 0),
        ("no signal", sum(log["grad_norm"]) == 0),
        ("rounding", mean(log["grad_norm"]) < 0.01),
        ("hacked", max(log["held_out"]) - log["held_out"][-1] > 0.1),
        ("learns", True),
    )
    return next(word for word, holds in rules if holds)


def _dead(log):
    if max(log["grad_norm"]) == 0:
        return "cut off" if mean(log["cut"]) > 0.3 else "no signal"
    return "rounding" if max(log["grad_norm"]) < 0.02 else None


def _rise(values):
    return mean(values[-5:]) - mean(values[:5])


def one_letter(log):
    return by_gradients(log)[0]


def a_dict(log):
    return {"word": by_gradients(log)}


def by_the_sampled_truth(log):
    return _dead(log) or ("learns" if _rise(log["truth"]) > 0 else "hacked")


def by_entropy(log):
    return _dead(log) or ("hacked" if _rise(log["entropy"]) < 0 else "learns")


def by_the_reward(log):
    return _dead(log) or ("learns" if _rise(log["reward"]) > -0.2 else "hacked")


def by_length(log):
    return _dead(log) or ("hacked" if _rise(log["length"]) < 0 else "learns")


def by_the_loss(log):
    return _dead(log) or ("hacked" if mean(log["loss"]) > 0.05 else "learns")


def by_reward_std(log):
    if max(log["reward_std"]) == 0:
        return "cut off" if mean(log["cut"]) > 0.3 else "no signal"
    return by_gradients(log) if max(log["grad_norm"]) > 0 else "hacked"


def by_a_reward_of_zero(log):
    if max(map(abs, log["reward"])) == 0:
        return "cut off" if mean(log["cut"]) > 0.3 else "no signal"
    if max(log["grad_norm"]) < 0.02:
        return "rounding"
    return "learns" if log["held_out"][-1] > log["held_out"][0] else "hacked"


def never_looks_at_cuts(log):
    word = by_gradients(log)
    return "no signal" if word == "cut off" else word


def by_zero_std(log):
    if min(log["zero_std"]) == 1:
        return "cut off" if mean(log["cut"]) > 0.3 else "no signal"
    return "learns" if log["held_out"][-1] > log["held_out"][0] else "hacked"


def truth_before_gradients(log):
    if log["held_out"][-1] < log["held_out"][0] - 0.1:
        return "hacked"
    return by_gradients(log)
