"""Exercise 09.8: a run with several disagreements, fixed in its settings and trained."""

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.settings import OverSeeds, both, only, over_seeds
from course_utils.exercises.lesson_09 import runs
from course_utils.exercises.lesson_09.runs import Mended
from course_utils.reproductions.lesson_09 import three_causes
from course_utils.reproductions.lesson_09.three_causes import (
    AS_REPORTED,
    TEMPLATES,
    WEIGHTS,
)

SEEDS = (21, 22, 23)
RANGES = {
    "temperature": (0.05, 5.0),
    "logits_divided_by": (0.05, 5.0),
    "clip_ratio": (0.0, 10.0),
    "kl_loss_coef": (0.0, 10.0),
    "learning_rate": (0.0, 1.0),
}
WORDS = {
    "chat_template": tuple(TEMPLATES),
    "weights": tuple(WEIGHTS),
    "old_log_probs": ("trainer", "engine"),
}


def _has_known_values(mend: dict) -> str | None:
    if not mend:
        return "it changes nothing"
    for key, value in mend.items():
        low, high = RANGES.get(key, (0, 0))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if key in RANGES and not (is_number and low <= value <= high):
            return f"{key} is {value!r}; a number from {low:g} to {high:g} is needed"
        if key == "sync_every" and (type(value) is not int or value < 0):
            return f"sync_every is {value!r}; a whole number of rollouts is needed (0 is never)"
        if key in WORDS and value not in WORDS[key]:
            return f"{key} is {value!r}; one of {', '.join(WORDS[key])} is needed"
    return None


changes_a_run = both(only(*AS_REPORTED), _has_known_values)


def try_it(mend: dict) -> OverSeeds:
    return OverSeeds(lambda seed: Mended(three_causes.run(seed, **mend)), SEEDS)


@over_seeds
def both_sides_agree(mended: Mended) -> str | None:
    return runs.agrees(mended)


@over_seeds
def policy_still_learns(mended: Mended) -> str | None:
    return runs.unexamined(mended) or runs.learns(mended)


ALL_THREE = {"logits_divided_by": 0.7, "sync_every": 1, "chat_template": "bare"}

MEND = Exercise(
    id="09.8",
    name="MEND",
    title="A run whose two sides agree",
    minutes=6,
    difficulty="a dict",
    points=4,
    reads="fix",
    expects=(dict,),
    hints=(
        "How many causes does the instrument name? Fix one, and run it again.",
        "The largest hides the others. Another text hides a temperature, and in later rollouts "
        "there is something that is not there in the first.",
        "Three settings: the text that the trainer reads (chat_template), what one side divides "
        "its logits by, and how often the engine gets the weights. Importance weights, clipping "
        "and KL remove none of the three.",
    ),
    form=changes_a_run,
    criteria=(
        Criterion(
            "On three seeds both sides agree in each of the first three rollouts.",
            both_sides_agree,
            why="a rollout whose two sides differ gives the loss wrong ratios",
            next="call compare() after three rollouts of your run",
        ),
        Criterion(
            "And after four rollouts the policy has moved and is not broken.",
            policy_still_learns,
            why="the two sides also agree about a policy that is not trained, or that breaks",
            next="change only what differs; a temperature that both sides share can "
            "still be too hot or too cold",
        ),
    ),
    answer=ALL_THREE,
    run=try_it,
    time_limit_s=180.0,
)
