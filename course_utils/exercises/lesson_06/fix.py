"""Exercise 06.10: a configuration that is checked by training with it, over three seeds."""

from dataclasses import dataclass

from course_utils.checks.declare import Criterion, Exercise, not_tested
from course_utils.checks.settings import OverSeeds, both, only, over_seeds, plain
from course_utils.checks.watched_calls import PASS_ON
from course_utils.exercises.lesson_06.gradients import known_warnings_ignored
from course_utils.reproductions.lesson_06.frozen_inputs import Outcome, outcome_of, reward_run

SEEDS = (0, 1, 2)
KEYS = (
    "enable_input_require_grads",
    "gradient_checkpointing",
    "gradient_checkpointing_kwargs",
    "task_type",
    "dtype",
    "bf16",
    "learning_rate",
    "optim",
    "max_grad_norm",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
)
OF_THE_CHECKPOINT = "gradient_checkpointing_kwargs"
OF_CHECKPOINTS = ("use_reentrant", "preserve_rng_state")
NOT_TRAINED = not_tested("the run raises")
NOT_RUN = Outcome(raised=True, num_adapters=0, num_moved=0, others_moved=False)
SWITCHES = ("enable_input_require_grads", "gradient_checkpointing", "bf16")


def no_argument_of_the_checkpoint(fix: dict) -> str | None:
    if "use_reentrant" not in fix:
        return None
    return (
        "'use_reentrant' is an argument of the checkpoint and no setting of its own; the setting "
        f"that holds such arguments, as a dict, is {OF_THE_CHECKPOINT}"
    )


def values_have_their_types(fix: dict) -> str | None:
    for name in SWITCHES:
        if name in fix and not isinstance(fix[name], bool):
            return f"{name} is {fix[name]!r}, where True or False is needed"
    inner = fix.get(OF_THE_CHECKPOINT)
    if inner is None:
        return None
    if not isinstance(inner, dict):
        return f"{OF_THE_CHECKPOINT} is {inner!r}, where a dict is needed"
    for key, value in inner.items():
        if key not in OF_CHECKPOINTS:
            known = " and ".join(OF_CHECKPOINTS)
            return f"{OF_THE_CHECKPOINT} holds {key!r}; only {known} are allowed here"
        if not isinstance(value, bool):
            return f"{key} is {value!r}, where True or False is needed"
    return None


one_setting_of_the_run = both(
    no_argument_of_the_checkpoint, only(*KEYS, at_most=1), values_have_their_types
)


@dataclass(frozen=True)
class _Trained:
    outcome: Outcome
    is_checkpointed: bool
    error: str = "the error of section 1"  # when the outcome is that it raised


def train_with(fix: dict) -> OverSeeds:
    """Train the silent reward run with the student's change, three optimizer steps a seed."""
    settings = plain(fix)

    def train(seed: int) -> _Trained:
        try:
            with known_warnings_ignored():
                trainer = reward_run(**settings, seed=seed)
                outcome = outcome_of(trainer)
        except PASS_ON:
            raise
        except Exception as error:  # whatever the libraries say to such a setting
            said = (str(error).splitlines() or [""])[0]
            return _Trained(NOT_RUN, False, f"{type(error).__name__}: {said}")
        return _Trained(outcome, trainer.model.is_activation_checkpointing)

    return OverSeeds(train, SEEDS)


@over_seeds
def does_not_raise(trained: _Trained) -> str | None:
    return f"the run raises {trained.error}" if trained.outcome.raised else None


@over_seeds
def head_is_trained(trained: _Trained) -> str | None:
    if trained.outcome.raised:
        return NOT_TRAINED
    return None if trained.outcome.others_moved else "no weight of `score` moved"


@over_seeds
def adapters_move(trained: _Trained) -> str | None:
    outcome = trained.outcome
    if outcome.raised:
        return NOT_TRAINED
    if outcome.num_moved == outcome.num_adapters > 0:
        return None
    return f"{outcome.num_moved} of {outcome.num_adapters} lora_B matrices moved"


@over_seeds
def memory_is_still_saved(trained: _Trained) -> str | None:
    if trained.outcome.raised:
        return NOT_TRAINED
    return None if trained.is_checkpointed else "no layer is checkpointed in this run"


FIX = Exercise(
    id="06.10",
    name="FIX",
    title="Fix the silent run",
    minutes=3,
    difficulty="one setting",
    points=4,
    reads="fix",
    expects=(dict,),
    hints=(
        "Which fact cuts the graph that you can change, while base, head and memory stay?",
        "There are two: how the checkpoint works, and whether its inputs are marked.",
        "Section 8 tried both on the GRPO run, and both trained. Here one is a switch of its own; "
        "the other is an argument of the checkpoint, in a dict inside your dict.",
    ),
    form=one_setting_of_the_run,
    criteria=(
        Criterion(
            "The run does not raise.",
            does_not_raise,
            why="a run that stops trains nothing, not even the head",
            next="if you changed task_type, put it back; change what cuts the graph",
        ),
        Criterion(
            "The head is still trained.",
            head_is_trained,
            why="a reward model's new head is random numbers until it is trained",
            next="keep task_type, and a learning rate large enough to move a float32 weight",
        ),
        Criterion(
            "Every LoRA adapter moves.",
            adapters_move,
            why="lora_B starts at 0: an adapter that has not moved adds nothing to the model",
            next="which fact cuts the graph: the kind of checkpoint, or its unmarked inputs?",
        ),
        Criterion(
            "The layers are still checkpointed.",
            memory_is_still_saved,
            why="switching it off works, and gives up the memory that checkpointing saves",
            next="another kind of checkpointing needs no marked inputs",
        ),
    ),
    answer={"gradient_checkpointing_kwargs": {"use_reentrant": False}},
    run=train_with,
    time_limit_s=120.0,
)
