"""Declares an incident: the broken run as it was reported, its healthy twin, its smallest fix.

Every run is a real, tiny training run of seconds on a CPU, built anew by `make` and not started.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from course_utils.causes import CAUSES

if TYPE_CHECKING:  # so that the classes can be read without torch
    from torch import nn

Variant = Literal["broken", "twin", "mended"]


@dataclass
class Run:
    """A run that is ready to start: nothing of it has been trained.

    Attributes:
        model: what is trained.
        start: trains to the end, seconds; called once. Calls `on_step` of a loop of one's own.
        trainer: the Trainer (SFT, DPO, reward, GRPO) that `start` trains, if one does.
        log: one dict an entry, with the field names of its library; filled by `start`. For a
            Trainer this is its `state.log_history`.
        facts: numbers about the outcome that no log shows (truth, share that stops, weights
            moved), asked for after `start`.
        parts: what a loop of one's own is made of, by name: `optimizer`, `batch` (one batch as
            the model takes it), `loss` (a function of model and batch), `tokenizer`, `sampler`,
            `reference`, `settings`, `served` (a function that makes the merged or reloaded model,
            after the run).
    """

    model: "nn.Module"
    start: Callable[[], None]
    trainer: object | None = None
    log: list[dict] = field(default_factory=list)
    facts: Callable[[], dict[str, float]] = dict
    parts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Incident:
    """One failure as somebody met it.

    Attributes:
        name: the module's name.
        title: a short noun phrase of the field.
        kind: a key of `course_utils.causes.kinds.CLASSES`.
        says: what people paste, one sentence.
        cause: the true cause, one sentence; `fix`: the smallest one.
        threads: where it was reported, such as "trl#1623".
        rebuilt: empty when today's libraries do it by themselves; else what was put in, and why.
        make: a run that is `broken`, its `twin` that differs in nothing else, or `mended` by the
            fix, for a seed.
        shows: whether a run that has ended shows the symptom.
        causes: the keys of `course_utils.causes.CAUSES` that name the cause; empty when
            no log can tell.
        place: a word or two that a good report says (a module, a column, a setting).
        lesson: the stem of the lesson about it, or "".
    """

    name: str
    title: str
    kind: str
    says: str
    cause: str
    fix: str
    threads: tuple[str, ...]
    make: Callable[[Variant, int], Run]
    shows: Callable[[Run], bool]
    rebuilt: str = ""
    causes: tuple[str, ...] = ()
    place: str = ""
    lesson: str = ""

    def is_named_by(self, key: str) -> bool:
        """Whether a cause is the right one: the incident lists it, or it is of its kind."""
        return key in self.causes or self.kind in CAUSES[key].kinds


@dataclass(frozen=True)
class LookAlike:
    """A healthy run that looks broken.

    Attributes:
        title: a short noun phrase of the field.
        looks: what somebody might take for a failure, one sentence.
        because: why it is none.
        make: the run, for a seed.
        holds: whether it is healthy by what it has learned, after it has ended.
    """

    name: str
    title: str
    looks: str
    because: str
    threads: tuple[str, ...]
    make: Callable[[int], Run]
    holds: Callable[[Run], bool]
