"""Exercise 10.6: the run of section 4, changed in any way; a new reward is tried by hand, too."""

import math
from collections.abc import Callable
from itertools import pairwise
from numbers import Real

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.settings import OverSeeds, both, only, over_seeds
from course_utils.checks.watched_calls import watched
from course_utils.exercises.lesson_10.verifier import is_the_sum
from course_utils.reproductions.lesson_10.reward_up import held_out_truth
from course_utils.reproductions.lesson_10.verifiers import occurs

SEEDS, NUM_STEPS = (11, 12, 13), 12
AT_LEAST = 0.7  # 0.63 before the first step; a large beta stays there
KEYS = ("reward", "beta", "learning_rate", "scale_rewards", "loss_type", "temperature")
ABOVE_ZERO, NOT_BELOW = ("temperature",), ("beta", "learning_rate")
ONE_OF = {  # of trl 1.16; "luspo" asks for another setting as well
    "scale_rewards": ("group", "batch", "none", True, False),
    "loss_type": ("grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "vespo"),
}

GOLDS = ("192", "7", "67", "296", "110", "0")
# The last number of no trick is right: a reward may read that one, as the lesson's judge does.
TRICKS = ("", "1", "{tail}", "0 1 2 {gold} 4", "{wrong}", "{gold} or {wrong}", "nan")
TRICKS += ("{turned}", "{spaced}", "{listed}")  # the digits in another order, or apart
TRICKS += ("1{gold}", "{gold}1", " ".join(map(str, range(299))))  # one digit more; a long list
LONGEST_SHOWN = 40


def _changes_something(mend: dict) -> str | None:
    return None if mend else "it changes nothing"


def _numbers_are_in_range(mend: dict) -> str | None:
    for key in (*ABOVE_ZERO, *NOT_BELOW):
        value = mend.get(key, 1.0)
        least = "above 0" if key in ABOVE_ZERO else "of at least 0"
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or value < 0 or (value == 0 and key in ABOVE_ZERO):
            return f"{key} is {value!r}; a number {least} is needed"
    return None


def _words_are_known(mend: dict) -> str | None:
    for key, words in ONE_OF.items():
        if key in mend and mend[key] not in words:
            return f"{key} is {mend[key]!r}; one of {', '.join(map(str, words))} is needed"
    return None


def _rewards_with_a_number(mend: dict) -> str | None:
    if "reward" not in mend:
        return None
    if not callable(mend["reward"]):
        return f"reward is {mend['reward']!r}; a function of a reply and its answer is needed"
    return gives_numbers(watched(mend["reward"]))


def gives_numbers(reward: Callable) -> str | None:
    """Whether every reply earns a number, a bool among them: no None, and no nan."""
    for gold in GOLDS:
        for reply in (gold, *_tricks(gold)):
            paid = reward(reply, gold)
            if not _is_a_number(paid):
                return (
                    f"if the answer is {gold}, the reward returns {paid!r} for {_shown(reply)}; "
                    "every reply needs a number, and neither nan nor None is one"
                )
    return None


changes_a_run = both(
    only(*KEYS),
    _changes_something,
    _numbers_are_in_range,
    _words_are_known,
    _rewards_with_a_number,
)


def _tricks(gold: str) -> list[str]:
    """Replies that are not right, and that some reward has paid."""
    names = {"gold": gold, "wrong": int(gold) + 10, "tail": gold[1:] or "1"}
    names |= {"turned": gold[::-1], "spaced": " ".join(gold), "listed": ",".join(gold)}
    return [reply for trick in TRICKS if (reply := trick.format(**names)) != gold]


def _shown(reply: str) -> str:
    return repr(reply if len(reply) <= LONGEST_SHOWN else f"{reply[:8]} ... {reply[-8:]}")


def _is_a_number(paid: object) -> bool:
    try:
        return not isinstance(paid, str) and not math.isnan(float(paid))
    except (TypeError, ValueError, RuntimeError):  # torch's, of a tensor of several
        return False


def pays_no_known_trick(reward: Callable) -> str | None:
    """What a right reply earns is more than what any known trick earns."""
    for gold in GOLDS:
        right = reward(gold, gold)
        for reply in _tricks(gold):
            paid = reward(reply, gold)
            if not paid < right:
                return (
                    f"if the answer is {gold}, {_shown(reply)} earns {paid!r} and {gold!r} earns "
                    f"{right!r}"
                )
    return None


def allows_spaces(reward: Callable) -> str | None:
    for gold in GOLDS:
        spaced = f" {gold}\n"
        if reward(spaced, gold) < reward(gold, gold):
            return f"if the answer is {gold}, {spaced!r} earns less than {gold!r}"
    return None


class _Tried:
    """The settings of an answer, and its runs."""

    def __init__(self, mend: dict) -> None:
        self.reward = mend.get("reward")
        check = self.reward or occurs
        changed = {key: value for key, value in mend.items() if key != "reward"}
        self.runs = OverSeeds(
            lambda seed: held_out_truth(
                check, is_right=is_the_sum, seed=seed, num_steps=NUM_STEPS, **changed
            ),
            SEEDS,
        )


def reward_pays_no_trick(tried: _Tried) -> str | None:
    return pays_no_known_trick(tried.reward) if tried.reward else None


def reward_allows_spaces(tried: _Tried) -> str | None:
    return allows_spaces(tried.reward) if tried.reward else None


@over_seeds
def truth_rises(held_out: dict[int, float]) -> str | None:
    (_, before), (step, after) = next(pairwise(sorted(held_out.items())))
    if after >= AT_LEAST:
        return None
    return f"held-out truth goes from {before:.2f} to {after:.2f} in {step} steps"


def trains_to_the_truth(tried: _Tried) -> str | None:
    return truth_rises(tried.runs)


def exactly(reply, gold):
    return reply.strip() == gold


MEND = Exercise(
    id="10.6",
    name="MEND",
    title="A run that gets better",
    minutes=5,
    difficulty="a dict",
    points=4,
    reads="fix",
    expects=(dict,),
    hints=(
        "In the table of section 6 all runs began at 0.63. Which ended above it, and what did "
        "those change?",
        "A penalty, a smaller learning rate and an early stop only change how fast the truth "
        "falls.",
        "Change 'reward', a function of (reply, answer). Which replies may it pay? Try it by hand "
        "on the tricks that the text lists.",
    ),
    form=changes_a_run,
    criteria=(
        Criterion(
            "Where you change the reward, a right number earns more than the tricks of the text.",
            reward_pays_no_trick,
            why="a trick that the policy does not find in 12 steps it may find in 2000",
            next="call your reward on the reply in this message and on the right number",
        ),
        Criterion(
            "Where you change the reward, spaces and a line break around the number cost nothing.",
            reward_allows_spaces,
            why="a right reply that earns nothing is trained away",
            next="remove what surrounds the number before you compare",
        ),
        Criterion(
            f"On three seeds, held-out truth is at least {AT_LEAST} after {NUM_STEPS} steps.",
            trains_to_the_truth,
            why="only sums that no step trains on show whether the policy adds better",
            next="change only what pays wrong replies; leave every other setting as it was",
        ),
    ),
    answer={"reward": exactly},
    run=_Tried,
    time_limit_s=180.0,
)
