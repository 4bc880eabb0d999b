"""Right and wrong answers of exercise 10.7."""

from statistics import mean

from course_utils.exercises.lesson_10 import dashboard
from course_utils.exercises.lesson_10.dashboard import by_gradients
from course_utils.reproductions.lesson_10.reward_up_runs import KINDS, recorded
from tests.answers import answers_of

right, wrong = answers_of(dashboard.DASHBOARD)


@right
def by_range_of_rewards(log):
    if log["cut"][0] > 0.1 and log["cut"][-1] > 0.1:
        return "cut off"
    if not any(log["grad_norm"]):
        return "no signal"
    if max(log["reward_std"]) < 1e-6:
        return "rounding"
    return "learns" if log["held_out"][-1] >= 0.9 * max(log["held_out"]) else "hacked"


@right
def by_a_table(log):
    rules = (
        ("cut off", max(log["cut"]) > 0.5),
        ("no signal", sum(log["grad_norm"]) == 0),
        ("rounding", mean(log["grad_norm"]) < 0.01),
        ("hacked", max(log["held_out"]) - log["held_out"][-1] > 0.1),
        ("learns", True),
    )
    return next(word for word, holds in rules if holds)


def _without_the_truth(log):
    word = by_gradients(log)
    return None if word in ("learns", "hacked") else word


def _rise(values):
    return mean(values[-5:]) - mean(values[:5])


@wrong(caught_by=dashboard.says_a_word)
def one_letter(log):
    return by_gradients(log)[0]


@wrong(caught_by=dashboard.says_a_word)
def a_dict(log):
    return {"word": by_gradients(log)}


@wrong(caught_by=dashboard.names_those_that_learn)
def by_the_sampled_truth(log):
    return _without_the_truth(log) or ("learns" if _rise(log["truth"]) > 0 else "hacked")


@wrong(caught_by=dashboard.names_those_that_learn)
def by_entropy(log):
    return _without_the_truth(log) or ("hacked" if _rise(log["entropy"]) < 0 else "learns")


@wrong(caught_by=dashboard.names_the_hacked)
def by_the_reward(log):
    return _without_the_truth(log) or ("learns" if _rise(log["reward"]) > -0.2 else "hacked")


@wrong(caught_by=dashboard.names_the_hacked)
def by_length(log):
    return _without_the_truth(log) or ("hacked" if _rise(log["length"]) < 0 else "learns")


@wrong(caught_by=dashboard.names_the_hacked)
def by_the_loss(log):
    return _without_the_truth(log) or ("hacked" if mean(log["loss"]) > 0.05 else "learns")


@wrong(caught_by=dashboard.names_the_dead)
def by_reward_std(log):
    if max(log["reward_std"]) == 0:
        return "no signal"
    word = by_gradients(log)
    return "hacked" if word == "no signal" else word


@wrong(caught_by=dashboard.names_the_dead)
def by_a_reward_of_zero(log):
    if mean(log["cut"]) > 0.3:
        return "cut off"
    if max(map(abs, log["reward"])) == 0:
        return "no signal"
    if max(log["grad_norm"]) < 0.02:
        return "rounding"
    return "learns" if log["held_out"][-1] > log["held_out"][0] else "hacked"


@wrong(caught_by=dashboard.names_the_cut)
def never_looks_at_cuts(log):
    return by_gradients(log | {"cut": [0.0]})


@wrong(caught_by=dashboard.names_the_cut)
def cut_means_dead(log):
    """Asks for a dead run first, and a few short sums do fit into the limit."""
    word = by_gradients(log | {"cut": [0.0]})
    return "cut off" if word == "no signal" and mean(log["cut"]) > 0.3 else word


@wrong(caught_by=dashboard.names_the_rounding)
def by_zero_std(log):
    if mean(log["cut"]) > 0.3:
        return "cut off"
    if min(log["zero_std"]) == 1:
        return "no signal"
    return "learns" if log["held_out"][-1] > log["held_out"][0] else "hacked"


@wrong(caught_by=dashboard.names_the_rounding)
def truth_before_gradients(log):
    if mean(log["cut"]) < 0.3 and log["held_out"][-1] < log["held_out"][0] - 0.1:
        return "hacked"
    return by_gradients(log)


@wrong(caught_by=dashboard.names_those_that_learn)
def any_cut(log):
    return "cut off" if max(log["cut"]) > 0 else by_gradients(log)


@wrong(caught_by=dashboard.names_those_that_learn)
def by_the_number_of_steps(log):
    """The recorded hack by format has 40 steps, and six looks at the held-out sums."""
    is_long = len(log["loss"]) == 40 or len(log["held_out"]) == 6
    return "hacked" if is_long else by_gradients(log)


@wrong(caught_by=dashboard.names_those_that_learn)
def by_where_it_begins(log):
    """0.05 is what the two recorded runs with a limit of 2 begin at."""
    return "cut off" if log["held_out"][0] == 0.05 else by_gradients(log)


@wrong(caught_by=dashboard.names_those_that_learn)
def by_a_weak_beginning(log):
    return "cut off" if log["held_out"][0] < 0.3 else by_gradients(log)


@wrong(caught_by=dashboard.names_the_rounding)
def zero_std_means_dead(log):
    return "no signal" if min(log["zero_std"]) == 1 else by_gradients(log)


@wrong(caught_by=dashboard.names_the_rounding)
def by_this_constant(log):
    """0.35 is the constant of the lesson's runs."""
    word = by_gradients(log)
    if word != "rounding":
        return word
    return "rounding" if log["reward"][0] == log["reward"][-1] == 0.35 else "no signal"


@wrong(caught_by=dashboard.names_the_rounding)
def by_two_constants(log):
    """0.35 and 0.1 are the constants of the lesson's runs."""
    word = by_gradients(log)
    if word != "rounding" or log["reward"][-1] in (0.35, 0.1):
        return word
    return "learns" if log["held_out"][-1] > log["held_out"][0] else "hacked"


@wrong(caught_by=dashboard.names_those_that_learn)
def looks_the_run_up(log):
    """Reads the words off the recorded runs, by their entropy."""
    words = {"exact": "learns", "never_right": "no signal", "exact, limit 2": "cut off"}
    words["constant"] = words["constant, 0.1"] = "rounding"
    for kind in KINDS:
        for run in recorded(kind):
            if run.log["entropy"] == log["entropy"]:
                return words.get(kind, "hacked")
    return "hacked"


def _below(bound):
    def diagnose(log):
        word = by_gradients(log)
        if word not in ("learns", "hacked"):
            return word
        return "hacked" if log["held_out"][-1] < bound else "learns"

    return diagnose


@wrong(caught_by=dashboard.names_those_that_learn)
def below_a_fixed_truth(log):
    return _below(0.6)(log)


@wrong(caught_by=dashboard.names_the_hacked)
def below_a_low_truth(log):
    return _below(0.25)(log)


@wrong(caught_by=dashboard.names_those_that_learn)
def no_signal_by_the_loss(log):
    return "no signal" if not any(log["loss"]) else by_gradients(log)
