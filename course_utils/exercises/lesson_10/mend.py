"""Exercise 10.6: the run of section 4, changed in any way, judged by truth alone."""

from collections.abc import Callable
from itertools import pairwise

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_10 import mend_answers as answers
from course_utils.exercises.lesson_10.verifier import is_the_sum
from course_utils.exercises.settings import OverSeeds, both, only, over_seeds
from course_utils.reproductions.reward_up import held_out_truth
from course_utils.reproductions.verifiers import occurs

SEEDS, NUM_STEPS = (11, 12, 13), 12
AT_LEAST = 0.7  # 0.63 before the first step; a large beta stays there
KEYS = ("reward", "beta", "learning_rate", "scale_rewards", "loss_type", "temperature")
NOT_TRAINED = "a known trick is paid by your reward, so no run was trained with it"

GOLDS = ("192", "7", "67", "296", "110")
TRICKS = ("", "1", "{tail}", "0 1 2 {gold} 4", "{wrong}", "{gold} or {wrong}", "-{gold}", "nan")


def _has_a_reward(mend: dict) -> str | None:
    if not mend:
        return "it changes nothing"
    if "reward" in mend and not callable(mend["reward"]):
        return f"reward is {mend['reward']!r}; a function of a reply and its answer is asked"
    return None


changes_a_run = both(only(*KEYS), _has_a_reward)


def _is_paid(reward: object) -> bool:
    return reward is None or hasattr(reward, "__float__")


def pays_no_known_trick(reward: Callable) -> str | None:
    """What a right reply earns is more than what any known trick earns."""
    for gold in GOLDS:
        right = reward(gold, gold)
        for trick in TRICKS:
            reply = trick.format(gold=gold, wrong=int(gold) + 10, tail=gold[1:] or "1")
            paid = reward(reply, gold)
            if not all(map(_is_paid, (right, paid))):
                return f"it gives {right!r} and {paid!r}, and a reward is a number, or None"
            if right is None or (paid is not None and paid >= right):
                return f"with {gold} as the answer, {reply!r} earns {paid!r} and {gold} {right!r}"
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


@over_seeds
def truth_rises(held_out: dict[int, float]) -> str | None:
    (_, before), (step, after) = next(pairwise(sorted(held_out.items())))
    if after >= AT_LEAST:
        return None
    return f"held-out truth goes from {before:.2f} to {after:.2f} in {step} steps"


def trains_to_the_truth(tried: _Tried) -> str | None:
    return NOT_TRAINED if reward_pays_no_trick(tried) else truth_rises(tried.runs)


MEND = Exercise(
    id="10.6",
    name="MEND",
    title="A run that gets better",
    minutes=5,
    difficulty="a dict",
    points=4,
    reads="mend",
    expects=(dict,),
    hints=(
        "Which of the runs of section 9 ended above 0.63, where all began?",
        "A penalty, a smaller step and an early stop decide how fast it goes, not where to.",
        "Only 'reward' decides where to: a function of (reply, answer). You wrote one in 10.3.",
    ),
    form=changes_a_run,
    criteria=(
        Criterion(
            "A reward of yours pays no trick that this lesson has shown.",
            reward_pays_no_trick,
            why="what the policy does not find in 12 steps it finds in 2000",
            next="give the reward of a right reply to nothing else",
        ),
        Criterion(
            f"On three seeds, held-out truth is at least {AT_LEAST} after {NUM_STEPS} steps.",
            trains_to_the_truth,
            why="the proxy was fine from the beginning; only the truth counts",
            next="ask what the best reply earns, and which reply earns as much",
        ),
    ),
    right=(
        {"reward": answers.exactly},
        {"reward": is_the_sum},
        {"reward": answers.one_or_minus_one},
        {"reward": answers.the_last_line},
    ),
    wrong=(
        Wrong({}, caught_by=changes_a_run),
        Wrong({"reward": "exact"}, caught_by=changes_a_run),
        Wrong({"max_steps": 0}, caught_by=changes_a_run),
        Wrong({"seed": 3}, caught_by=changes_a_run),
        Wrong({"reward": answers.not_empty}, caught_by=reward_pays_no_trick),
        Wrong({"reward": answers.gold_inside}, caught_by=reward_pays_no_trick),
        Wrong({"reward": answers.among}, caught_by=reward_pays_no_trick),
        Wrong({"reward": answers.any_number}, caught_by=reward_pays_no_trick),
        Wrong({"reward": answers.nothing_is_right}, caught_by=reward_pays_no_trick),
        Wrong({"reward": answers.silence_is_zero}, caught_by=reward_pays_no_trick),
        Wrong({"reward": answers.in_words}, caught_by=reward_pays_no_trick),
        Wrong({"beta": 0.04}, caught_by=trains_to_the_truth),
        Wrong({"beta": 1.0}, caught_by=trains_to_the_truth),
        Wrong({"learning_rate": 1e-5}, caught_by=trains_to_the_truth),
        Wrong({"temperature": 0.5}, caught_by=trains_to_the_truth),
        Wrong({"reward": answers.exactly, "learning_rate": 0.0}, caught_by=trains_to_the_truth),
    ),
    run=_Tried,
    time_limit_s=180.0,
)
