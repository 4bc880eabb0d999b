"""Exercise 03.5: a configuration that is checked by training with it."""

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.reproductions.reward_model import (
    MAX_LEARNING_RATES,
    MAX_SHARE_FORGOTTEN,
    MIN_SHARE_MOVED,
    reward_trainer,
)
from course_utils.training import WeightChange, train_and_compare

NOTHING_TO_LOOK_AT = "there is no living, trained head to look at"


def train_with(fix: dict) -> list[WeightChange]:
    """Train the reported run with the student's changes, three optimizer steps."""
    return train_and_compare(reward_trainer(**fix))


def _head(changes: list[WeightChange]) -> WeightChange | None:
    return next((change for change in changes if "score" in change.name), None)


def all_finite(changes) -> str | None:
    dead = [change for change in changes if change.num_dead]
    if not dead:
        return None
    return f"{len(dead)} of {len(changes)} trained tensors hold inf or nan after three steps"


def head_is_trained(changes) -> str | None:
    return None if _head(changes) else "no weight of `score` is trained"


def head_moves(changes) -> str | None:
    head = _head(changes)
    if head is None or head.num_dead:
        return NOTHING_TO_LOOK_AT
    if head.share_moved >= MIN_SHARE_MOVED:
        return None
    return f"{head.share_moved:.0%} of the head's {head.num_weights} weights ({head.dtype}) moved"


def steps_are_sane(changes) -> str | None:
    head = _head(changes)
    if head is None or head.num_dead:
        return NOTHING_TO_LOOK_AT
    if head.largest_move <= MAX_LEARNING_RATES:
        return None
    return f"a head weight moved by {head.largest_move:.0f} learning rates in three steps"


def remembers_gradients(changes) -> str | None:
    head = _head(changes)
    if head is None or head.num_dead:
        return NOTHING_TO_LOOK_AT
    if head.share_forgotten <= MAX_SHARE_FORGOTTEN:
        return None
    return f"AdamW's second moment is 0 for {head.share_forgotten:.0%} of the head's weights"


FIX = Exercise(
    id="03.5",
    name="FIX",
    title="Mend the configuration",
    minutes=8,
    difficulty="one setting",
    points=4,
    reads="fix",
    expects=(dict,),
    hints=(
        "Which settings change the format or the arithmetic of the head's update?",
        "Finite is not enough: compare the share of the head that moved, and by how much.",
        "Give the trained weights a format with more range and more digits, or let the update be "
        "computed in one. One key is enough.",
    ),
    criteria=(
        Criterion(
            "Every trained weight is finite after the run.",
            all_finite,
            why="one dead weight makes every later score nan",
            next="ask of each setting: does it change how the head's update is computed?",
        ),
        Criterion(
            "The score head is still trained.",
            head_is_trained,
            why="a new head is random numbers; frozen, it gives the adapters a random goal",
            next="keep the head in training and change the arithmetic instead",
        ),
        Criterion(
            "At least half of the head's weights have moved.",
            head_moves,
            why="an update below half a unit in the last place of its weight is rounded away",
            next="compare the size of an update with the spacing of the format at 0.02",
        ),
        Criterion(
            "No head weight moved further than ten learning rates.",
            steps_are_sane,
            why="AdamW's step is about one learning rate; a root that rounds to 0 leaves g / eps",
            next="look at which gradients have a v that rounds to 0, and what divides them then",
        ),
        Criterion(
            "AdamW remembers how large each gradient was.",
            remembers_gradients,
            why="a stored v of 0 makes a later step m / small: thousands of learning rates long",
            next="where is v kept between two steps, and in which format?",
        ),
    ),
    right=({"dtype": "float32"}, {"dtype": "bfloat16", "learning_rate": 1e-3}),
    wrong=(
        Wrong({}, caught_by=all_finite),
        Wrong({"gradient_accumulation_steps": 1}, caught_by=all_finite),
        Wrong({"max_grad_norm": 0.1}, caught_by=all_finite),
        Wrong({"learning_rate": 1e-6}, caught_by=all_finite),
        Wrong({"logging_nan_inf_filter": False}, caught_by=all_finite),
        Wrong({"task_type": None}, caught_by=head_is_trained),
        Wrong({"dtype": "bfloat16"}, caught_by=head_moves),
        Wrong({"optim": "sgd"}, caught_by=head_moves),
        Wrong({"adam_epsilon": 1e-4}, caught_by=steps_are_sane),
        Wrong({"adam_epsilon": 1e-6}, caught_by=steps_are_sane),
        Wrong({"optim": "adamw_torch_fused"}, caught_by=remembers_gradients),
    ),
    run=train_with,
    time_limit_s=120.0,
)
