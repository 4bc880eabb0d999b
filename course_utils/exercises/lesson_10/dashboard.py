"""Exercise 10.7: the smallest dashboard that tells five kinds of run apart."""

from collections.abc import Callable, Iterator
from functools import cache
from statistics import mean

from course_utils.checks.declare import Criterion, Exercise
from course_utils.reproductions.lesson_10.reward_up_runs import recorded

WORDS = ("learns", "hacked", "no signal", "rounding", "cut off")
KINDS = {
    "exact": "learns",
    "substring": "hacked",
    "closeness": "hacked",
    "right_but_short": "hacked",
    "any_number": "hacked",
    "never_right": "no signal",
    "exact, limit 2": "cut off",
    "constant": "rounding",
    "constant, 0.1": "rounding",
}
Log = dict[str, list[float]]


@cache
def logs(kind: str) -> tuple[Log, ...]:
    """Each recorded run of a kind, as the reader's function is given it."""
    return tuple(
        _not_the_file(run.log) | {"held_out": list(run.held_out.values())} for run in recorded(kind)
    )


def _not_the_file(log: Log) -> Log:
    """The same to any rule, and unlike the recorded numbers: a step less, 1.01 of the entropy."""
    later = {name: values[1:] for name, values in log.items()}
    return later | {"entropy": [1.01 * value for value in later["entropy"]]}


def _decided_by_the_prompt() -> Log:
    """A dead run whose rewards differ from group to group: its columns put beside a dead run's."""
    log = logs("never_right")[1]
    steps = len(log["reward"])
    alternating = {"reward": (0.75, 0.5), "reward_std": (0.44, 0.51)}
    return log | {name: [pair[n % 2] for n in range(steps)] for name, pair in alternating.items()}


def _always_right() -> Log:
    log = logs("never_right")[0]
    return log | {"reward": [1.0] * len(log["reward"])}


def _another_constant(constant: float, log: Log, held_out: list[float]) -> Log:
    """A run that moves by rounding, with another reward and another truth."""
    rewards = {"reward": [constant] * len(log["reward"]), "held_out": held_out}
    return log | rewards | {"grad_norm": [norm / 8 for norm in log["grad_norm"]]}


def _learns_and_stays() -> Log:
    """A run that learns and then stays as it is, 40 steps in all."""
    log = logs("exact")[0]
    longer = {name: (values + values[-17:])[:40] for name, values in log.items()}
    return longer | {"held_out": log["held_out"] + log["held_out"][-1:] * 2}


def _learns_from_little() -> Log:
    """A run whose policy could hardly add before it: 0.05 of the held-out sums, 0.3 after it."""
    log = logs("exact")[1]
    steps = len(log["truth"])
    rising = [0.05 + 0.25 * n / (steps - 1) for n in range(steps)]
    return log | {"reward": rising, "truth": rising, "held_out": [0.05, 0.12, 0.22, 0.3]}


def _learns_at_loss_0() -> Log:
    """A run that learns and logs what the mean over replies always logs on policy."""
    log = logs("exact")[3]
    return log | {"loss": [0.0] * len(log["loss"])}


def _hacked_from_much() -> Log:
    """A hacked run whose policy was good before it: 0.92 of the held-out sums, 0.7 after it."""
    log = logs("substring")[0]
    steps = len(log["truth"])
    falling = [0.92 - 0.22 * n / (steps - 1) for n in range(steps)]
    return log | {"truth": falling, "held_out": [0.92, 0.86, 0.78, 0.7]}


def _learns_with_some_cut() -> Log:
    """A run that learns, one of 32 replies at the limit in every third step."""
    log = logs("exact")[2]
    return log | {"cut": [(n % 3 == 0) / 32 for n in range(len(log["cut"]))]}


def says_a_word(diagnose: Callable) -> str | None:
    got = diagnose(_copied(logs("exact")[0]))
    if isinstance(got, str) and got in WORDS:
        return None
    return f"it returns {got!r}; one of {', '.join(WORDS)} is needed"


def _copied(log: Log) -> Log:
    return {name: list(values) for name, values in log.items()}


def _all_named(diagnose: Callable, runs: Iterator[tuple[str, Log]], want: str) -> str | None:
    for name, log in runs:
        got = diagnose(_copied(log))
        if got != want:
            return f"it returns {got!r} for {name}, and {want!r} is right: {_seen(log)}"
    return None


def _seen(log: Log) -> str:
    """The columns of a log that tell the five words apart."""
    truths = ", ".join(f"{truth:.2f}" for truth in log["held_out"])
    steepest, cut = max(log["grad_norm"]), mean(log["cut"])
    return f"held_out {truths}; largest grad_norm {steepest:.2g}; mean cut {cut:.2f}"


def _named(kind: str) -> Iterator[tuple[str, Log]]:
    runs = logs(kind)
    return ((f"run {n} of {len(runs)} of {kind!r}", log) for n, log in enumerate(runs, start=1))


def names_those_that_learn(diagnose) -> str | None:
    made = (
        ("a run of 40 steps", _learns_and_stays()),
        ("a run that begins with a weaker policy", _learns_from_little()),
        ("a run whose loss is always 0", _learns_at_loss_0()),
        ("a run with one truncated reply of 32 now and then", _learns_with_some_cut()),
    )
    return _all_named(diagnose, iter((*_named("exact"), *made)), "learns")


def names_the_hacked(diagnose) -> str | None:
    kinds = [kind for kind, word in KINDS.items() if word == "hacked"]
    runs = [named for kind in kinds for named in _named(kind)]
    made = ("a run that begins with a better policy", _hacked_from_much())
    return _all_named(diagnose, iter((*runs, made)), "hacked")


def names_the_dead(diagnose) -> str | None:
    made = (
        ("a run paid by its prompts", _decided_by_the_prompt()),
        ("a run whose replies are all right", _always_right()),
    )
    runs = (*_named("never_right"), *made)
    return _all_named(diagnose, iter(runs), "no signal")


def names_the_cut(diagnose) -> str | None:
    return _all_named(diagnose, _named("exact, limit 2"), "cut off")


def names_the_rounding(diagnose) -> str | None:
    runs = [named for kind in ("constant", "constant, 0.1") for named in _named(kind)]
    log = logs("constant")[0]
    runs += [
        ("a constant of 0.7", _another_constant(0.7, log, [0.63, 0.55, 0.41, 0.3])),
        ("a constant of -0.9", _another_constant(-0.9, log, [0.4, 0.42, 0.47, 0.52])),
    ]
    return _all_named(diagnose, iter(runs), "rounding")


def by_gradients(log):
    if mean(log["cut"]) > 0.3:
        return "cut off"
    if max(log["grad_norm"]) == 0:
        return "no signal"
    if max(log["grad_norm"]) < 0.02:
        return "rounding"
    return "learns" if log["held_out"][-1] > log["held_out"][0] else "hacked"


DASHBOARD = Exercise(
    id="10.7",
    name="DASHBOARD",
    title="The smallest dashboard",
    minutes=15,
    difficulty="a few lines",
    points=4,
    reads="diagnose",
    expects=(Callable,),
    hints=(
        "Which of the five kinds can you recognise without the truth, and by which column?",
        "cut is almost 0 in all kinds but one. grad_norm is 0 in every step of another, and never "
        "above 0.01 in a third. Only the other two kinds need the truth.",
        "Ask one question after the other: are replies cut, is there a gradient at all, and is it "
        "as large as that of real rewards? Only then compare held_out with its earlier values.",
    ),
    form=says_a_word,
    criteria=(
        Criterion(
            "Runs with a sound verifier learn: twenty, and four others (longer, weaker, "
            "truncated, with loss 0).",
            names_those_that_learn,
            why="people switch off a dashboard that raises alarms about healthy runs",
            next="compare held_out with its earlier values; the sampled truth of a batch swings "
            "by 0.2",
        ),
        Criterion(
            "Thirty-four hacked runs, with four different tricks, are found.",
            names_the_hacked,
            why="the next trick looks different, but the truth falls in every hack",
            next="compare the truth with its earlier values; other columns differ from trick to "
            "trick",
        ),
        Criterion(
            "Runs without any signal are found, whatever their reward is.",
            names_the_dead,
            why="the mean reward and the batch's std say nothing about differences within a group",
            next="look at the largest grad_norm",
        ),
        Criterion(
            "Runs whose replies are cut off are found.",
            names_the_cut,
            why="these runs need another fix: a higher limit, not another reward",
            next="look first at the share of truncated replies over the whole run",
        ),
        Criterion(
            "Runs that move only by rounding are found, whatever the constant is.",
            names_the_rounding,
            why="zero_std is 0 for 0.35 and 1 for 0.1, so it does not help here",
            next="look for a grad_norm that is not 0 and stays tiny in every step",
        ),
    ),
    answer=by_gradients,
)
