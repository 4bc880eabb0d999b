"""Exercise 10.7: the smallest dashboard that tells five kinds of run apart."""

from collections.abc import Callable, Iterator
from functools import cache

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_10 import dashboard_answers as answers
from course_utils.reproductions.reward_up_runs import recorded

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
}


@cache
def logs(kind: str) -> tuple[dict[str, list[float]], ...]:
    """Each recorded run of a kind, as the reader's function is given it."""
    return tuple(run.log | {"held_out": list(run.held_out.values())} for run in recorded(kind))


def _decided_by_the_prompt() -> dict[str, list[float]]:
    """A dead run whose rewards differ from group to group: its columns put beside a dead run's."""
    log = logs("never_right")[1]
    steps = len(log["reward"])
    return log | {"reward": [0.75, 0.5] * (steps // 2), "reward_std": [0.44, 0.51] * (steps // 2)}


def _always_right() -> dict[str, list[float]]:
    log = logs("never_right")[0]
    return log | {"reward": [1.0] * len(log["reward"])}


def says_a_word(diagnose: Callable) -> str | None:
    got = diagnose(_copied(logs("exact")[0]))
    if isinstance(got, str) and got in WORDS:
        return None
    return f"it returns {got!r}; one of {', '.join(WORDS)} is asked"


def _copied(log: dict) -> dict:
    return {name: list(values) for name, values in log.items()}


def _all_named(diagnose: Callable, runs: Iterator[tuple[str, dict]], want: str) -> str | None:
    for name, log in runs:
        got = diagnose(_copied(log))
        if got != want:
            first, *_, last = log["held_out"]
            seen = f"reward {log['reward'][0]:.2f} to {log['reward'][-1]:.2f}"
            return (
                f"{name} ({seen}, held-out truth {first:.2f} to {last:.2f}) is said to be {got!r}"
            )
    return None


def _named(kind: str) -> Iterator[tuple[str, dict]]:
    return ((f"run {n} of {len(logs(kind))}", log) for n, log in enumerate(logs(kind), start=1))


def names_those_that_learn(diagnose) -> str | None:
    return _all_named(diagnose, _named("exact"), "learns")


def names_the_hacked(diagnose) -> str | None:
    kinds = [kind for kind, word in KINDS.items() if word == "hacked"]
    runs = (named for kind in kinds for named in _named(kind))
    return _all_named(diagnose, runs, "hacked")


def names_the_dead(diagnose) -> str | None:
    made = (
        ("a run paid by its prompts", _decided_by_the_prompt()),
        ("a solved one", _always_right()),
    )
    runs = (*_named("never_right"), *made)
    return _all_named(diagnose, iter(runs), "no signal")


def names_the_cut(diagnose) -> str | None:
    return _all_named(diagnose, _named("exact, limit 2"), "cut off")


def names_the_rounding(diagnose) -> str | None:
    return _all_named(diagnose, _named("constant"), "rounding")


DASHBOARD = Exercise(
    id="10.7",
    name="DASHBOARD",
    title="The smallest dashboard",
    minutes=8,
    difficulty="a few lines",
    points=4,
    reads="diagnose",
    expects=(Callable,),
    hints=(
        "Which of the five kinds can be told without the truth, and by which column?",
        "cut is 0 in all kinds but one. grad_norm is 0 in every step of another, and never above "
        "0.01 in a third. Only the last two kinds need the truth.",
        "In order: the mean of cut, then max(grad_norm) == 0, then max(grad_norm) < 0.01; then "
        "compare the last held_out with the best or the first.",
    ),
    form=says_a_word,
    criteria=(
        Criterion(
            "Twenty runs with a sound verifier learn.",
            names_those_that_learn,
            why="a dashboard that cries at healthy runs is switched off",
            next="use held_out: the sampled truth of one batch swings by 0.2",
        ),
        Criterion(
            "Thirty-three hacked runs, with four different tricks, are found.",
            names_the_hacked,
            why="the next trick has another shape, and the truth falls all the same",
            next="compare the truth with what it was; reward, length and entropy differ by trick",
        ),
        Criterion(
            "Runs without any signal are found, whatever their reward is.",
            names_the_dead,
            why="the mean reward and the batch's std say nothing about differences in a group",
            next="look at the largest grad_norm",
        ),
        Criterion(
            "Runs whose replies are cut off are found.",
            names_the_cut,
            why="the mend is another: a limit, and not a reward",
            next="look at the share of cut replies, before anything else",
        ),
        Criterion(
            "Runs that move by rounding alone are found, with and without damage.",
            names_the_rounding,
            why="zero_std is 0 there, as in the healthiest run",
            next="ask for a grad_norm that is not 0 and never large",
        ),
    ),
    right=(answers.by_gradients, answers.by_range_of_rewards, answers.by_a_table),
    wrong=(
        Wrong(answers.one_letter, caught_by=says_a_word),
        Wrong(answers.a_dict, caught_by=says_a_word),
        Wrong(answers.by_the_sampled_truth, caught_by=names_those_that_learn),
        Wrong(answers.by_entropy, caught_by=names_those_that_learn),
        Wrong(answers.by_the_reward, caught_by=names_the_hacked),
        Wrong(answers.by_length, caught_by=names_the_hacked),
        Wrong(answers.by_the_loss, caught_by=names_the_hacked),
        Wrong(answers.by_reward_std, caught_by=names_the_dead),
        Wrong(answers.by_a_reward_of_zero, caught_by=names_the_dead),
        Wrong(answers.never_looks_at_cuts, caught_by=names_the_cut),
        Wrong(answers.cut_means_dead, caught_by=names_the_cut),
        Wrong(answers.by_zero_std, caught_by=names_the_rounding),
        Wrong(answers.truth_before_gradients, caught_by=names_the_rounding),
    ),
)
