"""Declares an incident: the broken run as it was reported, its healthy twin, its smallest fix.

Every run is a real, tiny training run of seconds on a CPU, built anew by `make` and not started.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # so that the classes can be read without torch
    from torch import nn

# The classes of failure, most frequent first, as fix commits and threads of the field count them.
CLASSES = {
    "adapter": "a merged, loaded or exported adapter is not what was trained",
    "never_stops": "the end of a reply is not learned",
    "labels": "labels are masked, cut or misplaced, or no row is left",
    "no_signal": "all rewards of a group, or both replies of a pair, are alike",
    "logp_mismatch": "sampler and trainer give one token different probabilities",
    "hang": "the processes wait for each other",
    "memory": "the memory ends",
    "normalisation": "the loss depends on how the batch is split",
    "sharding": "a weight takes no part on one of several processes",
    "half_precision": "numbers leave the range of float16",
    "collapse": "the policy collapses: entropy, KL, clipping",
    "reward_hacking": "the reward is cheated, or a trait gives it away",
    "stale_weights": "old weights are sampled from, or exported",
    "template": "another template or another start token than in training",
    "padding_side": "padding on the wrong side moves positions",
    "packing": "packed rows see each other",
    "retokenised": "other tokens are scored than were sampled",
    "length_bias": "the loss pays for length",
    "kl_place": "the KL stands where it does nothing, or something else",
    "embeddings": "tied or resized embeddings, an id past the table",
    "resume": "a resumed run does not go on where it stopped",
    "pooling": "the reward is read at the wrong token",
    "schedule": "the learning rate is not what was asked for",
    "preference": "pairs: their order, prefix, reference or strength",
    "on_policy": "ratio 1, clip fraction 0: expected",
    "rounding": "updates vanish in bfloat16",
    "routing": "a mixture of experts routes one token differently",
    "tiny_std": "an advantage divided by almost nothing, or by nothing",
    "no_grad": "no gradient arrives, or the optimizer steps other weights",
    "rate": "the learning rate is far too high",
    "bad_numbers": "one row, weight or formula makes nan or an error",
}
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
        kind: a key of CLASSES.
        says: what people paste, one sentence.
        cause: the true cause, one sentence; `fix`: the smallest one.
        threads: where it was reported, such as "trl#1623".
        rebuilt: empty when today's libraries do it by themselves; else what was put in, and why.
        make: a run that is `broken`, its `twin` that differs in nothing else, or `mended` by the
            fix, for a seed.
        shows: whether a run that has ended shows the symptom.
        causes: the keys of `course_utils.explain.causes.CAUSES` that name the cause; empty when
            no log can tell.
        place: a word or two that a good report says (a module, a column, a setting).
        lesson: the stem of the lesson about it, or "".
    """

    name: str
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


@dataclass(frozen=True)
class LookAlike:
    """A healthy run that looks broken.

    Attributes:
        looks: what somebody might take for a failure, one sentence.
        because: why it is none.
        make: the run, for a seed.
        holds: whether it is healthy by what it has learned, after it has ended.
    """

    name: str
    looks: str
    because: str
    threads: tuple[str, ...]
    make: Callable[[int], Run]
    holds: Callable[[Run], bool]
