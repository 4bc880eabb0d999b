"""Exercise 03.5: a configuration that is checked by training with it."""

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.settings import OverSeeds, both, only, over_seeds
from course_utils.exercises.lesson_03 import trained
from course_utils.reproductions.lesson_03.reward_model import reward_trainer

ASKED = (
    "dtype",
    "task_type",
    "optim",
    "learning_rate",
    "adam_epsilon",
    "max_grad_norm",
    "weight_decay",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "logging_nan_inf_filter",
)

settings_are_asked = both(
    only(*ASKED, at_most=2),
    trained.optimizer_is_one_of("adamw_torch", "adamw_torch_fused", "sgd"),
    trained.values_are_possible,
)
REPORTED_RATE = 1e-5


def train_with(fix: dict) -> OverSeeds:
    """The reported run with the student's changes, three optimizer steps, over the seeds."""
    return trained.train_over_seeds(reward_trainer, fix, ("score",))


def head_moves_as_far_as_reported(run: trained.Trained) -> str | None:
    if seen := trained.part_moves(run):
        return seen
    rates = max(change.largest_move for change in run.watched) * run.learning_rate / REPORTED_RATE
    if rates >= 1:
        return None
    return f"no weight of the head moved further than {rates:.2g} of the reported learning rate"


all_finite = over_seeds(trained.all_finite)
head_is_trained = over_seeds(trained.part_is_trained)
head_moves = over_seeds(head_moves_as_far_as_reported)
steps_are_sane = over_seeds(trained.steps_are_sane)
remembers_gradients = over_seeds(trained.squares_are_kept)

FIX = Exercise(
    id="03.5",
    name="FIX",
    title="Fix the configuration",
    minutes=8,
    difficulty="one setting or two",
    points=4,
    reads="fix",
    expects=(dict,),
    form=settings_are_asked,
    hints=(
        "Which settings change the format or the arithmetic of the head's update?",
        "Finite is not enough: compare the share of the head that moved, and by how much.",
        "Two things are needed: a format that keeps eps and v (section 8 printed both) and, for a "
        "step of 1e-5, close neighbours. How far is the next number after 0.02 in each format? "
        "torch.nextafter tells; half of that must be less than the step. One key is enough.",
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
            why="a new head is random numbers; if it is frozen, the adapters learn a random goal",
            next="keep the head in training and change the arithmetic instead",
        ),
        Criterion(
            "At least half of the head's weights moved, one by the reported learning rate or more.",
            head_moves,
            why="a head that stands still, or nearly so, is not trained: an update that is less "
            "than half the distance to the next number of the format is rounded away",
            next="how large is one update, and how far is the next number after 0.02? AdamW's "
            "three steps are about two learning rates",
        ),
        Criterion(
            "No head weight moved further than ten learning rates, or half of the head's size.",
            steps_are_sane,
            why="AdamW's three steps are about two learning rates. If the root is 0, g / eps "
            "is left, and a large learning rate destroys the head at once",
            next="is it the learning rate, or are there gradients whose v rounds to 0?",
        ),
        Criterion(
            "The optimizer stores how large each gradient was.",
            remembers_gradients,
            why="with a stored v of 0, a later step is thousands of learning rates long; without "
            "any v, large and small gradients share one learning rate",
            next="does this optimizer keep a v at all? If so, in which format is it kept between "
            "two steps?",
        ),
    ),
    answer={"dtype": "float32"},
    run=train_with,
    time_limit_s=120.0,
)
