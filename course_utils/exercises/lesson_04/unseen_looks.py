"""The observations behind exercise 04.10: the diagnosis, an alarm, and runs made with its fix."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from course_utils import diagnostics
from course_utils.checks.broken_script import Diagnosis, Variant, of_the_mend, of_the_runs
from course_utils.checks.compare import tensor_differs
from course_utils.checks.probes import gradient_of
from course_utils.checks.settings import OverSeeds
from course_utils.exercises.lesson_04.hooks import hangs_a_hook
from course_utils.reproductions.lesson_04 import unseen_04
from course_utils.reproductions.lesson_04.unseen_04 import SmallRun, Ticket

CHECK_SEEDS, NUM_UPDATES, MIN_REWARD = (4, 6, 7), 30, 0.3  # each dies by update 20 as reported
HEALTHY = {
    "policy_term": unseen_04.ratio_of_tokens,
    "anchor_term": unseen_04.distance_of_replies,
    "entropy_term": unseen_04.entropy_of_positions,
}


@dataclass(frozen=True)
class WithAlarm(Variant):
    """A ticket whose diagnosis names replies before the backward pass."""

    alarm: Callable  # what trace_step does not print: the replies, named before the backward pass

    @property
    def diagnosis(self) -> dict:
        return super().diagnosis | {"alarm": self.alarm}

    def place_differs(self, unseen: dict) -> str | None:
        if seen := super().place_differs(unseen):
            return seen
        if callable(unseen["alarm"]):
            return None
        return f"alarm is a function with the arguments of the term; given is {unseen['alarm']!r}"


class Tried(Diagnosis):
    """A diagnosis, and the runs with its mend."""

    def __init__(self, unseen: dict, variant: WithAlarm) -> None:
        super().__init__(unseen, variant)
        self.alarm = unseen["alarm"]
        fresh, changes = variant.ticket.fresh, {self.place: self.fix}
        self.runs = OverSeeds(
            lambda seed: fresh(seed=seed, **changes).train(NUM_UPDATES), CHECK_SEEDS
        )


@of_the_mend
@of_the_runs
def trained_it_lives(run: SmallRun) -> str | None:
    for update in run.updates:
        if not math.isfinite(update["grad_norm"]):
            return f"the gradient norm of update {update['step']} is {update['grad_norm']:g}"
    reward = run.updates[-1]["reward"]
    if reward >= MIN_REWARD:
        return None
    return f"after {NUM_UPDATES} updates the reward is {reward:.2f}; it has to reach {MIN_REWARD}"


@cache
def _heard(place: str) -> list[tuple[Tensor, ...]]:
    """Arguments that a term is given in healthy runs, padding and empty replies among them."""
    heard = []

    def listen(*args: Tensor) -> Tensor:
        heard.append(tuple(arg.detach().clone() for arg in args))
        return HEALTHY[place](*args)

    for seed in CHECK_SEEDS:
        SmallRun(seed=seed, **{place: listen}).train(25)
    return heard[4::5]


def _inputs(place: str) -> Iterator[tuple[str, tuple[Tensor, ...]]]:
    """Copies of the heard arguments, also as later in a run: other lengths, an older engine.

    Some replies end with a STOP that is now unlikely, at -20: there exp does not overflow. At the
    first token of some, the engine is so far below that it does.
    """
    generator = torch.Generator().manual_seed(0)
    for number, heard in enumerate(_heard(place), start=1):
        args = [arg.clone() for arg in heard]
        yield f"{place} of rollout {number}", tuple(args)
        length = torch.randint(0, args[0].shape[1] + 1, (len(args[0]), 1), generator=generator)
        is_token = torch.arange(args[0].shape[1]) < length
        if place == "policy_term":
            drift = torch.randn(args[1].shape, generator=generator)
            far = torch.tensor(unseen_04.ENGINE_PADDING)
            args[1] = torch.where(is_token, args[0].detach() + drift, far)
            unlikely = torch.rand(length.shape, generator=generator) < 0.5  # a STOP, at padding
            args[0] = torch.where(unlikely & ~is_token, -20.0, args[0])
        stops = torch.arange(unseen_04.VOCABULARY) == unseen_04.STOP
        args[-1] = (is_token[..., None] | stops) if args[-1].dim() == 3 else is_token
        args[-1] = args[-1].to(heard[-1].dtype)
        yield f"{place} of rollout {number} with other lengths", tuple(args)
        if place == "policy_term":
            args[1] = args[1].clone()
            args[1][::3, 0] = args[0].detach()[::3, 0] - 93.0
            args[-1][::3, 0] = 1.0
            yield f"{place} of rollout {number} with exp overflowing at some tokens", tuple(args)


def _gets_nan(term: Callable, args: tuple[Tensor, ...]) -> Tensor:
    """For each reply, whether the term gives it a nan gradient, (B,)."""
    leaf = args[0].detach().clone().requires_grad_()
    term(leaf, *args[1:]).sum().backward()
    return leaf.grad.isnan().flatten(1).any(1)


@of_the_mend
def alarm_names_the_replies(tried: Tried) -> str | None:
    sick = tried.variant.ticket.terms[tried.place]
    for given, args in _inputs(tried.place):
        want, got = _gets_nan(sick, args), tried.alarm(*args)
        if not isinstance(got, Tensor) or got.shape != want.shape:
            shape = tuple(got.shape) if isinstance(got, Tensor) else type(got).__name__
            return (
                f"for {given} one bool per reply is asked, shape {tuple(want.shape)}; got {shape}"
            )
        got = got.bool()
        missed, extra = int((want & ~got).sum()), int((got & ~want).sum())
        if missed or extra:
            of = f"{int(want.sum())} of {len(want)} replies get a nan gradient"
            return f"for {given} {of}; the alarm misses {missed} of them and names {extra} others"
    return None


@of_the_mend
def value_is_unchanged(tried: Tried) -> str | None:
    for given, args in _inputs(tried.place):
        got, want = tried.fix(*args), HEALTHY[tried.place](*args)
        if seen := tensor_differs(got, want, rtol=1e-3, atol=1e-5, given=given):
            return seen
    return None


@of_the_mend
def gradient_is_unchanged(tried: Tried) -> str | None:
    for given, args in _inputs(tried.place):
        got, problem = gradient_of(_tenth(tried.fix), args)
        if problem:
            return f"for {given} {problem}"
        want, _ = gradient_of(_tenth(HEALTHY[tried.place]), args)
        given = f"a tenth of the gradient, {given}"
        if seen := tensor_differs(got, want, rtol=1e-3, atol=1e-5, given=given):
            return seen
    return hangs_a_hook(tried.fix, args)


def _tenth(term: Callable) -> Callable:
    """The term with a weight below 1, as it has in the loss: 2 times float32's largest is inf."""
    return lambda *args: 0.1 * term(*args)


def _first_bad(run: SmallRun) -> int | None:
    for number in range(1, NUM_UPDATES + 1):
        if not math.isfinite(run.train(1).updates[-1]["grad_norm"]):
            return number
    return None


def names_the_place(tried: Tried) -> str | None:
    if tried.is_there:
        return None
    healthy = HEALTHY[tried.place]
    run = tried.variant.ticket.fresh(**{tried.place: lambda *args: 0.0 * healthy(*args)})
    return f"with {tried.place} times 0 the gradient is still nan, at update {_first_bad(run)}"


def names_the_cause(tried: Tried) -> str | None:
    if tried.letter == tried.variant.cause:
        return None
    said = _trace(tried.variant.ticket)
    return f"the letter is {tried.letter}; the trace of the first bad update says: {said}"


def _trace(ticket: Ticket) -> str:
    """What `trace_step` says of the first bad update, in one sentence."""
    run = ticket.fresh().train(_first_bad(ticket.fresh()) - 1)
    report = diagnostics.trace_step(run.policy, run.rollout(), loss_of=run.loss)
    return report.headline.partition(". ")[0]
