"""Exercise 06.10: a configuration that is checked by training with it."""

from dataclasses import dataclass

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_06.gradients import known_warnings_ignored
from course_utils.reproductions.frozen_inputs import Outcome, outcome_of, reward_run


@dataclass(frozen=True)
class _Trained:
    outcome: Outcome
    is_checkpointed: bool
    changes: tuple[str, ...]


def train_with(fix: dict) -> _Trained:
    """Train the silent reward run with the student's changes, three optimizer steps."""
    with known_warnings_ignored():
        trainer = reward_run(**fix)
        outcome = outcome_of(trainer)
    return _Trained(outcome, trainer.model.is_activation_checkpointing, tuple(fix))


def does_not_raise(trained) -> str | None:
    return "the run raises the error of section 1" if trained.outcome.raised else None


def head_is_trained(trained) -> str | None:
    if trained.outcome.raised:
        return "nothing was trained"
    if trained.outcome.others_moved:
        return None
    return "no weight of `score` moved"


def adapters_move(trained) -> str | None:
    outcome = trained.outcome
    if outcome.num_moved == outcome.num_adapters > 0:
        return None
    return f"{outcome.num_moved} of {outcome.num_adapters} lora_B matrices moved"


def memory_is_still_saved(trained) -> str | None:
    return None if trained.is_checkpointed else "no layer is checkpointed in this run"


def nothing_else_is_changed(trained) -> str | None:
    if len(trained.changes) <= 1:
        return None
    return f"{len(trained.changes)} settings are changed: {', '.join(trained.changes)}"


FIX = Exercise(
    id="06.10",
    name="FIX",
    title="Mend the silent run",
    minutes=3,
    difficulty="one setting",
    points=4,
    reads="fix",
    expects=(dict,),
    hints=(
        "Of the four facts in your rule, which can you change and keep base, head and memory?",
        "Two are left: how the checkpoint works, and whether its inputs are marked.",
        "gradient_checkpointing_kwargs takes use_reentrant; or set enable_input_require_grads.",
    ),
    criteria=(
        Criterion(
            "The run does not raise.",
            does_not_raise,
            why="the loss has no graph at all then: not even the head can learn",
            next="if you changed task_type, put it back; change what cuts the graph",
        ),
        Criterion(
            "The head is still trained.",
            head_is_trained,
            why="a reward model's new head is random numbers until it is trained",
            next="keep task_type and a learning rate that a float32 weight can feel",
        ),
        Criterion(
            "Every LoRA adapter moves.",
            adapters_move,
            why="lora_B starts at 0: an adapter that has not moved adds nothing to the model",
            next="ask your rule which fact must change",
        ),
        Criterion(
            "The layers are still checkpointed.",
            memory_is_still_saved,
            why="switching it off works, and brings back the memory that the table showed",
            next="another kind of checkpointing needs no marked inputs",
        ),
        Criterion(
            "Nothing else is changed.",
            nothing_else_is_changed,
            why="with two changes at once nobody knows which of them mended the run",
            next="leave one out and check again",
        ),
    ),
    right=(
        {"gradient_checkpointing_kwargs": {"use_reentrant": False}},
        {"enable_input_require_grads": True},
    ),
    wrong=(
        Wrong({"task_type": None}, caught_by=does_not_raise),
        Wrong({"learning_rate": 1e-20}, caught_by=head_is_trained),
        Wrong({}, caught_by=adapters_move),
        Wrong({"learning_rate": 5e-2}, caught_by=adapters_move),
        Wrong({"bf16": True}, caught_by=adapters_move),
        Wrong({"dtype": "bfloat16"}, caught_by=adapters_move),
        Wrong({"gradient_checkpointing": False}, caught_by=memory_is_still_saved),
        Wrong(
            {"enable_input_require_grads": True, "learning_rate": 1e-2},
            caught_by=nothing_else_is_changed,
        ),
    ),
    run=train_with,
    time_limit_s=120.0,
)
