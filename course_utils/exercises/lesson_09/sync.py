"""Exercise 09.7: the adapter that is trained has to be the one that is served."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_utils.checks.declare import Criterion, Exercise, not_tested
from course_utils.checks.input_fingerprint import changed, fingerprint
from course_utils.exercises.lesson_09.own_weights import (
    follows,
    layers_differ,
    logps,
    weights_differ,
)
from course_utils.reproductions.lesson_09 import engine_and_policy

AGREE = 0.01  # nats, of a log-prob; merging rounds, which moves one of -30 by 1e-4
ROUNDING = 1e-5  # of a weight; what unmerging leaves of one is far below


class _Tried:
    """An engine and a policy, trained and synced three times over."""

    def __init__(self, sync: Callable) -> None:
        engine, policy = engine_and_policy.engine(), engine_and_policy.policy()
        self.gaps: list[float] = []  # largest difference of a log-prob after each sync, in nats
        self.policy_change = self.layers = self.shared = self.weights = None
        for step in range(3):
            engine_and_policy.train(policy, seed=step)
            if step == 2:
                _load_older_base(engine)
            layers, due = dict(engine.named_modules()), _merged(policy)
            policy.train(step == 1)  # as a run is when it syncs; without dropout here
            before, state = fingerprint(policy, "the policy"), _copied(policy)
            weights = dict(engine.named_parameters())
            sync(engine, policy)
            place = changed(before, fingerprint(policy, "the policy"))
            self.policy_change = self.policy_change or _named(place, state, policy)
            self.is_broken = bool(place) and _change(state, policy) > ROUNDING
            if self.is_broken:  # what follows would be about another policy
                return
            self.layers = self.layers or layers_differ(layers, engine, weights)
            self.shared = self.shared or follows(engine, policy)
            self.weights = self.weights or weights_differ(engine, due)
            self.gaps.append((logps(engine) - logps(policy)).abs().max().item())

    def not_looked_at(self) -> str | None:
        return not_tested("the call changed the policy") if self.is_broken else None


def _load_older_base(engine: nn.Module) -> None:
    """Give the engine other base weights, as one that is started again from an older model has."""
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in engine.parameters():
            weight.mul_(1 + 0.05 * torch.randn(weight.shape, generator=draw))


def _merged(policy: nn.Module) -> dict[str, Tensor]:
    """What the engine's weights are due to be."""
    return copy.deepcopy(policy).merge_and_unload().state_dict()


def _copied(policy: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in policy.state_dict().items()}


def _change(state: dict[str, Tensor], policy: nn.Module) -> float:
    """Largest change of a weight; inf where names came or went."""
    now = policy.state_dict()
    if set(now) != set(state):
        return float("inf")
    return max((now[name] - value).abs().max().item() for name, value in state.items())


def _named(place: str | None, state: dict[str, Tensor], policy: nn.Module) -> str | None:
    size = _change(state, policy)
    if place is None or size == 0:
        return place and f"the call changed {place}"
    if size == float("inf"):
        return "the call changed the policy: some of its weights are gone or have other names"
    why = "; unmerging subtracts what was added, and both round" if size <= ROUNDING else ""
    return f"the call changed {place}; weights differ by up to {size:.1g}{why}"


def policy_stays(tried: _Tried) -> str | None:
    return tried.policy_change


def engine_stays_an_engine(tried: _Tried) -> str | None:
    return tried.not_looked_at() or tried.layers or tried.shared


def serves_what_is_trained(tried: _Tried) -> str | None:
    if seen := tried.not_looked_at():
        return seen
    gap = tried.gaps[0]
    if gap > AGREE:
        return f"after one sync the log-probs differ by up to {gap:.2g} nats; {tried.weights}"
    return None


def can_be_repeated(tried: _Tried) -> str | None:
    if seen := tried.not_looked_at():
        return seen
    for when, gap in zip(("first", "second"), tried.gaps, strict=False):
        if gap > AGREE:
            return f"after the {when} sync the log-probs differ by up to {gap:.2g} nats"
    if tried.gaps[2] > AGREE:
        return (
            "before the third sync the engine was started again with an older base; after it the "
            f"log-probs differ by up to {tried.gaps[2]:.2g} nats: {tried.weights}"
        )
    return tried.weights and f"the log-probs agree, but {tried.weights}"


def by_merged_copy(engine, policy):
    engine.load_state_dict(copy.deepcopy(policy).merge_and_unload().state_dict())


SYNC = Exercise(
    id="09.7",
    name="SYNC",
    title="Serve what is trained",
    minutes=10,
    difficulty="a few lines",
    points=4,
    reads="sync",
    expects=(Callable,),
    hints=(
        "Which names do the weights have in the engine, and which in the policy?",
        "A merged LoRA layer is the base weight plus the scaled B A. PEFT can merge a *copy* of "
        "the policy; the merged model has the engine's names.",
        "merge_and_unload() of a copy returns a plain model. Which call copies the values of its "
        "weights into weights that exist already, and shares none?",
    ),
    criteria=(
        Criterion(
            "The policy stays as it was.",
            policy_stays,
            why="it goes on training with whatever the call left, sync after sync",
            next="merge a copy, or restore the weights that you kept",
        ),
        Criterion(
            "The engine keeps layers and weights of its own.",
            engine_stays_an_engine,
            why="an engine is compiled for its own model and runs in another process",
            next="change the values of its parameters; do not add, replace or share any",
        ),
        Criterion(
            "After a sync both give the same log-probs.",
            serves_what_is_trained,
            why="no error is raised if a weight is missing or wrong",
            next="compare one weight of the engine with base plus scaled B A, then all names",
        ),
        Criterion(
            "The same holds after every later sync, also into an engine with another base.",
            can_be_repeated,
            why="an update that is added to served weights is added again at the next sync, and a "
            "base that is left alone may be another one",
            next="start from the policy's base weight each time, and copy every weight into the "
            "engine's, also those without an adapter",
        ),
    ),
    answer=by_merged_copy,
    run=_Tried,
    may_change=(0, 1),  # the policy is looked at here, with the size of a change
    time_limit_s=60.0,
)
