"""Exercise 10.8: a script the lesson has not shown; three variants, one fault each."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, of_the_mend
from course_utils.checks.declare import Criterion, not_tested
from course_utils.checks.settings import OverSeeds
from course_utils.exercises.lesson_10.mend import (
    AT_LEAST,
    SEEDS,
    gives_numbers,
    pays_no_known_trick,
    truth_rises,
)
from course_utils.exercises.lesson_10.verifier import is_the_sum
from course_utils.reproductions.lesson_10 import unseen_10
from course_utils.reproductions.lesson_10.reward_up import held_out_truth
from course_utils.reproductions.lesson_10.unseen_10 import HEALTHY, NUM_STEPS

TOKENS = 4  # of the longest right reply: three digits and the end
NOT_TRAINED = not_tested("the criterion above it is not met")


@dataclass(frozen=True)
class _Variant(Variant):
    keeps_the_rest: Callable[[Callable], str | None]


def keeps_the_reward_a_reward(fix: Callable) -> str | None:
    return gives_numbers(fix) or pays_no_known_trick(fix)


def keeps_the_settings(fix: Callable) -> str | None:
    """All but the limit, whose worth the runs show."""
    got, want = fix(), unseen_10.settings_for_speed()
    if not isinstance(got, dict):
        return f"settings() returns a {type(got).__name__}; a dict is needed"
    for key in want.keys() | got.keys():
        if key != "max_completion_length" and got.get(key) != want.get(key):
            return f"{key} was {want.get(key)} and now is {got.get(key)}, but it was not at fault"
    return None


class _Tried(Diagnosis):
    """A diagnosis, and the runs trained with its mend."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        super().__init__(unseen, variant)
        self.parts = parts = HEALTHY | variant.ticket.parts | {self.place: self.fix}
        self.runs = OverSeeds(lambda seed: _outcome(parts, seed), SEEDS)


def _outcome(parts: dict, seed: int) -> dict[int, float]:
    settings = dict(parts["settings"]())
    if settings == unseen_10.settings():
        settings = {}  # they are those of every run, which may be known
    return held_out_truth(
        parts["reward"], is_right=is_the_sum, seed=seed, num_steps=NUM_STEPS, **settings
    )


@of_the_mend
def nothing_else_changes(tried: _Tried) -> str | None:
    return tried.variant.keeps_the_rest(tried.fix)


@of_the_mend
def run_gets_better(tried: _Tried) -> str | None:
    if nothing_else_changes(tried):
        return NOT_TRAINED
    return truth_rises(tried.runs) or cuts_right_replies(tried.parts["settings"]())


def cuts_right_replies(settings: dict) -> str | None:
    limit = settings.get("max_completion_length", TOKENS)
    if limit is None or limit >= TOKENS:
        return None
    return (
        f"at a max_completion_length of {limit} a right reply of three digits is cut off: with "
        f"its end it has {TOKENS} tokens"
    )


ASKED = Asked(
    id="10.8",
    minutes=8,
    hints=(
        "Is there a signal? Look at zero_std and at grad_norm. If there is, what is paid?",
        "Rank the replies of script.run.batches[0] by what the part `reward` gives them: what "
        "earns most: a right one, a wrong one, an empty one? If all earn the same, ask why.",
        "Change only the part that you found. Does its reward pay a right reply most? Do its "
        "settings leave room for three digits and an end? Keep everything else.",
    ),
    place_next="call each part by hand on a right reply, a wrong one and an empty one",
    cause_next="what would your cause show in zero_std, reward and length? Is it there?",
    tried=_Tried,
    time_limit_s=180.0,
)
MENDED = (
    Criterion(
        "A reward pays a right number most; settings keep everything that was not at fault.",
        nothing_else_changes,
        why="a part is tried by hand before three runs are trained with it",
        next="compare your part with the old one on the case in this message",
    ),
    Criterion(
        f"Held-out truth is at least {AT_LEAST} on three seeds, and right replies have room.",
        run_gets_better,
        why="the proxy looked good before, so it proves nothing",
        next="train a fresh run with your part, and print its run.audit",
    ),
)


def pays_the_sum(reply, gold):
    return 1.0 if reply.strip() == gold else 0.0


def pays_the_number(reply, gold):
    found = re.fullmatch(r"\s*([0-9]{1,9})\.?\s*", reply)
    return float(found is not None and int(found[1]) == int(gold))


SILENCE = ASKED.on(
    _Variant(unseen_10.silence_is_golden(), "reward", "c", keeps_the_reward_a_reward),
    "An unseen run: a dense reward",
    mend=pays_the_sum,
    mended=MENDED,
)
ROOM = ASKED.on(
    _Variant(unseen_10.no_room(), "settings", "e", keeps_the_settings),
    "An unseen run: made faster",
    mend=unseen_10.settings,
    mended=MENDED,
)
AVERAGE = ASKED.on(
    _Variant(unseen_10.last_years_average(), "reward", "a", keeps_the_reward_a_reward),
    "An unseen run: a solid average",
    mend=pays_the_number,
    mended=MENDED,
)
UNSEEN = replace(SILENCE, also=(ROOM, AVERAGE))
