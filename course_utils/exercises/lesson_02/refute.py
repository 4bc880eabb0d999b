"""Exercise 02.3: a run that refutes one of the article's causes, and is really made."""

from dataclasses import dataclass

from course_utils.diagnostics import Autopsy
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.reproductions.grpo_sigfpe import SHORT, ending_of

NOT_RUN = "the run was not made, because it would show nothing about a suspect"
# Each suspect at the strength of the report or beyond; the combination is two of them or more.
STRONG = {
    "gradient_accumulation_steps": lambda steps: steps >= 4,
    "learning_rate": lambda rate: rate >= 5e-6,
    "warmup_steps": lambda steps: steps >= 0.1,
    "lr_scheduler_type": lambda name: name != SHORT["lr_scheduler_type"],
    "max_grad_norm": lambda norm: 0 < norm <= 0.1,
}


@dataclass(frozen=True)
class Control:
    """The settings that were put into the short run, and how it ended; None if not made."""

    settings: dict[str, object]
    ended: Autopsy | None


def make_run(settings: dict[str, object]) -> Control:
    control = Control(settings, None)
    if not settings or takes_a_suspect(control) or touches_nothing_else(control):
        return control
    return Control(settings, ending_of(SHORT | settings))


def takes_a_suspect(control: Control) -> str | None:
    if not control.settings:
        return "nothing is changed, so no suspect is in the run"
    for name, value in control.settings.items():
        try:
            too_weak = name in STRONG and not STRONG[name](value)
        except TypeError:
            return f"{name}={value!r} is a {type(value).__name__}, where a number is asked"
        if too_weak:
            return f"{name}={value!r} is milder than what was reported, so it can prove nothing"
    if any(name in STRONG for name in control.settings):
        return None
    if "warmup_ratio" in control.settings:
        return "warmup_ratio is called warmup_steps today; a value below 1 is a share"
    return f"{', '.join(control.settings)}: none of the four causes is about that"


def touches_nothing_else(control: Control) -> str | None:
    others = [name for name in control.settings if name not in STRONG]
    return f"{', '.join(others)} changed as well" if others else None


def run_lives(control: Control) -> str | None:
    if control.ended is None:
        return NOT_RUN
    return None if control.ended.outcome == "lived" else control.ended.headline


REFUTE = Exercise(
    id="02.3",
    name="REFUTE",
    title="Refute a cause of your choice",
    minutes=5,
    difficulty="one setting, or those of one cause",
    points=3,
    reads="control",
    expects=(dict,),
    hints=(
        "Which setting would have to kill the short run, if that cause were the true one?",
        "Take that setting, as reported or harsher, and leave all others as in the short run.",
        'For clipping: {"max_grad_norm": 0.01}. For the combination, name two or more suspects.',
    ),
    criteria=(
        Criterion(
            "It switches on a suspect, at the reported strength or beyond.",
            takes_a_suspect,
            why="a milder setting that does no harm says nothing about the reported one",
            next="take a setting named by sigfpe/C4, C5 or C6, with the reported value",
        ),
        Criterion(
            "It touches no setting that belongs to none of the four causes.",
            touches_nothing_else,
            why="if two things change, the ending cannot be laid at the door of one",
            next="leave everything else as in the short run",
        ),
        Criterion(
            "The run, really made in a child, lives.",
            run_lives,
            why="a cause that is there while the run lives is not enough to kill it",
            next="if a run was made, how did its child end? GRPOConfig may have refused a value",
        ),
    ),
    right=(
        {"max_grad_norm": 0.1},
        {"gradient_accumulation_steps": 4, "learning_rate": 5e-6, "lr_scheduler_type": "cosine"},
    ),
    wrong=(
        Wrong({}, caught_by=takes_a_suspect),
        Wrong({"max_grad_norm": 1.0}, caught_by=takes_a_suspect),
        Wrong({"gradient_accumulation_steps": 2}, caught_by=takes_a_suspect),
        Wrong({"weight_decay": 0.1}, caught_by=takes_a_suspect),
        Wrong({"learning_rate": "5e-6"}, caught_by=takes_a_suspect),
        Wrong({"gradient_accumulation_steps": 4, "bf16": True}, caught_by=touches_nothing_else),
        Wrong({"max_grad_norm": 0.1, "num_generations": 16}, caught_by=touches_nothing_else),
        Wrong({"lr_scheduler_type": "cosin"}, caught_by=run_lives),
    ),
    run=make_run,
    time_limit_s=120.0,
)
