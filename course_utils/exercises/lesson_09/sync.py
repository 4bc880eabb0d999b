"""Exercise 09.7: the adapter that is trained has to be the one that is served."""

from collections.abc import Callable

import torch
from torch import nn

from course_utils.checking import leaves_its_inputs_alone
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_09 import sync_answers as answers
from course_utils.reproductions import served

CLOSE = 1e-4  # merging rounds


class _Tried:
    """An engine and a policy, trained and synced three times over."""

    def __init__(self, sync: Callable) -> None:
        engine, policy = served.engine(), served.policy()
        self.gaps: list[float] = []  # largest difference of a log-prob after each sync, in nats
        for step in range(3):
            served.train(policy, seed=step)
            sync(engine, policy)
            self.gaps.append(_gap(engine, policy))
        self.added = [name for name, _ in engine.named_parameters() if "lora" in name]


def _gap(engine: nn.Module, policy: nn.Module) -> float:
    ids = served.ids()
    with torch.no_grad():
        one, other = (model(input_ids=ids).logits.log_softmax(-1) for model in (engine, policy))
    return (one - other).abs().max().item()


def engine_stays_an_engine(tried: _Tried) -> str | None:
    return f"the engine got parameters of its own, {tried.added[0]}" if tried.added else None


def serves_what_is_trained(tried: _Tried) -> str | None:
    gap = tried.gaps[0]
    return f"after one sync log-probs differ by up to {gap:.2g} nats" if gap > CLOSE else None


def can_be_repeated(tried: _Tried) -> str | None:
    gap = max(tried.gaps)
    return f"after a later sync log-probs differ by up to {gap:.2g} nats" if gap > CLOSE else None


SYNC = Exercise(
    id="09.7",
    name="SYNC",
    title="Serve what is trained",
    minutes=7,
    difficulty="a few lines",
    points=4,
    reads="sync",
    expects=(Callable,),
    hints=(
        "Which names do the weights of the engine have, and which those of the policy?",
        "Merged, a LoRA layer is base weight plus scaled B A. PEFT can merge a *copy* of the "
        "policy; what comes out has the engine's names.",
        "copy.deepcopy(policy).merge_and_unload() gives a plain model, whose state dict fits "
        "engine.load_state_dict.",
    ),
    criteria=(
        Criterion(
            "The engine keeps its own layers.",
            engine_stays_an_engine,
            why="an engine compiled for a model cannot take another one",
            next="change values of its parameters, add none",
        ),
        Criterion(
            "After a sync both give the same log-probs.",
            serves_what_is_trained,
            why="names that do not fit are skipped in silence with strict=False",
            next="compare log-probs after the sync, not names or versions",
        ),
        Criterion(
            "The same holds after every later sync.",
            can_be_repeated,
            why="what is added to served weights is added again at the next sync",
            next="start from the base weight each time",
        ),
    ),
    right=(answers.by_merged_copy, answers.by_hand, answers.merge_and_back),
    wrong=(
        Wrong(answers.wraps_the_engine, caught_by=engine_stays_an_engine),
        Wrong(answers.merges_the_policy, caught_by=leaves_its_inputs_alone),
        Wrong(answers.leaves_it_merged, caught_by=leaves_its_inputs_alone),
        Wrong(answers.resets_the_adapter, caught_by=leaves_its_inputs_alone),
        Wrong(answers.not_strict, caught_by=serves_what_is_trained),
        Wrong(answers.base_weights_only, caught_by=serves_what_is_trained),
        Wrong(answers.without_scaling, caught_by=serves_what_is_trained),
        Wrong(answers.queries_only, caught_by=serves_what_is_trained),
        Wrong(answers.returns_a_new_model, caught_by=serves_what_is_trained),
        Wrong(answers.adds_to_the_served, caught_by=can_be_repeated),
        Wrong(answers.only_once, caught_by=can_be_repeated),
    ),
    run=_Tried,
    may_change=(0,),
    time_limit_s=60.0,
)
