"""Exercise 02.3: a run that refutes one of the article's causes, and is really made."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.settings import both
from course_utils.diagnostics import Autopsy
from course_utils.reproductions.lesson_02.grpo_sigfpe import REPORTED, SHORT, ending_of

NOT_RUN = "the run was not made, because it would show nothing about a cause"
MOST_STEPS = 16  # micro-batches of 16 replies in one step; more take longer than a check may
STEPS = 3  # in the first of them the warmup still gives a learning rate of 0
# What the article names for each cause, all of it needed to switch that cause on.
CAUSES = {
    "accumulation": ("gradient_accumulation_steps",),
    "learning rate": ("learning_rate", "warmup_steps", "lr_scheduler_type"),
    "clipping": ("max_grad_norm",),
}
ASKED = tuple(name for names in CAUSES.values() for name in names)


@dataclass(frozen=True)
class Control:
    """The settings that were put into the short run, and how it ended; None if not made."""

    settings: dict[str, object]
    ended: Autopsy | None


def make_run(settings: dict[str, object]) -> Control:
    control = Control(settings, None)
    if switches_a_cause_on(control) or is_harsher_than_the_table(control):
        return control
    return Control(settings, _ending(tuple(settings.items())))


@cache
def _ending(settings: tuple[tuple[str, object], ...]) -> Autopsy:
    """The same settings are run once, however often they are checked."""
    return ending_of(SHORT | dict(settings), max_steps=STEPS)


def has_settings_of_the_causes(settings: dict) -> str | None:
    if not settings:
        return "nothing is changed, so no cause is in the run"
    if "warmup_ratio" in settings:
        return "warmup_ratio is called warmup_steps today; a value below 1 is a share"
    strangers = [repr(name) for name in settings if name not in ASKED]
    if strangers:
        return f"{', '.join(strangers)} stays as in the short run; none of C4, C5 and C6 names it"
    return None


def has_numbers_where_they_belong(settings: dict) -> str | None:
    for name, value in settings.items():
        is_text = isinstance(getattr(value, "value", value), str)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name == "lr_scheduler_type" and not is_text:
            return f"{name}={value!r}; the name of a schedule is asked"
        if name != "lr_scheduler_type" and not (is_number and math.isfinite(value)):
            return f"{name}={value!r} is a {type(value).__name__}, where a finite number is asked"
    steps = settings.get("gradient_accumulation_steps", 1)
    if not isinstance(steps, int) or steps < 1:
        return f"gradient_accumulation_steps={steps!r}; a whole number of 1 or more is asked"
    if steps > MOST_STEPS:
        return f"gradient_accumulation_steps={steps}; up to {MOST_STEPS} can be run in a check"
    return None


def switches_a_cause_on(control: Control) -> str | None:
    accused = [cause for cause, names in CAUSES.items() if set(names) & set(control.settings)]
    if len(accused) > 1:
        return f"it mixes {' and '.join(accused)}; one cause is asked, with nothing of another"
    for cause, names in CAUSES.items():
        given = [name for name in names if name in control.settings]
        left_out = [name for name in names if name not in given]
        if given and left_out:
            return f"of the {cause} it has {', '.join(given)}, without {' and '.join(left_out)}"
    return None


def is_harsher_than_the_table(control: Control) -> str | None:
    for name, value in control.settings.items():
        if name in HARSHER and (wanted := HARSHER[name](value)):
            return f"{name}={getattr(value, 'value', value)!r}; {wanted}"
    return None


def _more_steps(steps: int) -> str | None:
    least = REPORTED["gradient_accumulation_steps"]
    return None if steps > least else f"the table had {least}, so more is asked"


def _larger_rate(rate: float) -> str | None:
    least = REPORTED["learning_rate"]
    return None if rate > least else f"the table had {least:g}, so more is asked"


def _a_warmup(steps: float) -> str | None:
    least = REPORTED["warmup_steps"]
    if steps < least:
        return f"a warmup of {least:g} or more is accused"
    number = math.ceil(steps * STEPS) if steps < 1 else int(steps)  # as transformers reads it
    if number < STEPS:
        return None
    return f"the warmup lasts all of the {STEPS} steps, so that the rate is never reached"


def _a_cosine(name: object) -> str | None:
    wanted = REPORTED["lr_scheduler_type"]
    return None if getattr(name, "value", name) == wanted else f"{wanted!r} is accused"


def _stronger_clipping(norm: float) -> str | None:
    if norm <= 0:
        return "that switches clipping off"
    least = REPORTED["max_grad_norm"]
    return None if norm < least else f"the table had {least:g}, so less is asked"


HARSHER: dict[str, Callable[[object], str | None]] = {
    "gradient_accumulation_steps": _more_steps,
    "learning_rate": _larger_rate,
    "warmup_steps": _a_warmup,
    "lr_scheduler_type": _a_cosine,
    "max_grad_norm": _stronger_clipping,
}


def run_lives(control: Control) -> str | None:
    if control.ended is None:
        return NOT_RUN
    return None if control.ended.outcome == "lived" else control.ended.headline


FORM = both(has_settings_of_the_causes, has_numbers_where_they_belong)

REFUTE = Exercise(
    id="02.3",
    name="REFUTE",
    title="Refute a cause of your choice",
    minutes=5,
    difficulty="the settings of one cause",
    points=3,
    reads="control",
    expects=(dict,),
    hints=(
        "If that cause were the true one, which settings would have to kill the short run?",
        "Give all the settings that the article names for that cause, harsher than reported, and "
        "leave all others as in the short run.",
        "Clipping is one setting, accumulation another; the learning rate is accused together with "
        "two more. Which way is harsher for the one you chose: up or down?",
    ),
    form=FORM,
    criteria=(
        Criterion(
            "It switches on one cause, with all that the article accuses together.",
            switches_a_cause_on,
            why="half of a cause proves nothing about the whole, a mixture nothing about its parts",
            next="read C4, C5 and C6 again: what else does the article name besides your setting?",
        ),
        Criterion(
            "Each value is harsher than the one that the table has tried.",
            is_harsher_than_the_table,
            why="a value that was run already, or a milder one, adds no evidence",
            next="go beyond the reported value, in the direction that the article warns about",
        ),
        Criterion(
            "The run, really made in a child, lives.",
            run_lives,
            why="if the run lives with the cause in it, the cause is not enough to kill it",
            next="if a run was made, how did its child end?",
        ),
    ),
    answer={"max_grad_norm": 0.001},
    run=make_run,
    time_limit_s=120.0,
)
