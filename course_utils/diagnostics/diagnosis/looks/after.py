"""Looks at a finished model: beside its reference, as it is served, and with its adapter merged."""

import copy
import math
from typing import Any

from torch import nn

from course_utils.diagnostics.diagnosis.looks.forward import look_at_reference
from course_utils.diagnostics.diagnosis.looks.tied_head import (
    is_merged_tied,
    is_tied_and_adapted,
    merged_copy,
)
from course_utils.diagnostics.diagnosis.measures.comparing import (
    adds_to_weight,
    compare_models,
    is_merged,
)
from course_utils.diagnostics.diagnosis.measures.comparison import Comparison
from course_utils.diagnostics.diagnosis.measures.held_change import HeldChange, held_change
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import APART as OTHER
from course_utils.diagnostics.diagnosis.sheet.harm import FINITE, NOT_FINITE
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import BY_IDS
from course_utils.diagnostics.nonfinite.values import all_finite

APART = 0.05  # of the logits' spread: what merging in the base's own format may change
GRID = 32  # different values among 64 neighbouring weights: fewer than that is a quantised format
FITS = 0.05  # of the change: what may be left where a multiple of it explains the rest
WHOLE = 0.02  # how far from 1 the share of a change may be that was merged once and rounded


def look_at_outcome(subject: Subject, sheet: Sheet) -> None:
    """Compare the model with its reference, with the served one, and with its adapter merged."""
    with sheet.trying("the weights after the run"):
        _weights(subject, sheet)
    with sheet.trying("the reference after the run"):
        look_at_reference(subject, sheet)
    if subject.served is not None:
        with sheet.trying("the served model"):
            is_model = isinstance(subject.served, nn.Module)
            served = subject.served if is_model else subject.served()
            _compare(subject, served, "served", sheet)
        if is_tied_and_adapted(subject.model):
            return  # how it was merged is seen in what is served
    if hasattr(subject.model, "merge_and_unload") and _batch(subject) is not None:
        if _is_untrained(subject.model):
            sheet.miss("merged model", "the adapter is still zero, so that every merge is equal")
            return
        if is_merged(subject.model):
            sheet.miss("merged model", "the adapter is merged already")
            return
        with sheet.trying("merging"):
            _compare(subject, merged_copy(subject.model), "merged", sheet)


def _is_untrained(model: nn.Module) -> bool:
    """Whether every product that an adapter adds to a weight is still exactly 0."""
    layers = [one for one in model.modules() if adds_to_weight(one)]
    deltas = (one.get_delta_weight(name) for one in layers for name in one.active_adapters)
    return bool(layers) and not any(bool(delta.any()) for delta in deltas)


def _weights(subject: Subject, sheet: Sheet) -> None:
    """Whether the run left nan or inf in the model."""
    floats = [p for p in subject.model.parameters() if p.is_floating_point()]
    bad = sum(not all_finite(p) for p in floats)
    if bad:
        sheet.became(NOT_FINITE, f"{bad} of {len(floats)} weight tensors end with nan or inf")
    else:
        sheet.became(FINITE, f"all {len(floats)} weight tensors are finite at the end")


def _compare(subject: Subject, other: nn.Module, what: str, sheet: Sheet) -> None:
    if _batch(subject) is not None and is_merged_tied(subject, other, what, sheet):
        return
    found = compare_models(subject.model, other, _batch(subject))
    held = held_change(subject.model, other)
    is_apart = found.logits_apart is not None and found.logits_apart > APART
    if is_apart and not (held and held.is_base) and _is_rounded_dora(subject.model, other):
        sheet.clear(f"{what} model", f"{found.said}; its weights differ by rounding alone")
        return
    _judge(found, sheet, what, held)


def _is_rounded_dora(model: nn.Module, other: nn.Module) -> bool:
    """Whether the other model holds a merged DoRA, but for what its weights' format rounds.

    A DoRA scales each row of a weight as well, so that its product alone is not its change: the
    weights are held against those of a merge in float32.
    """
    named = dict(model.named_parameters())
    is_quantised = not all(weight.is_floating_point() for weight in named.values())
    if is_quantised or not any("lora_magnitude" in name for name in named):
        return False
    return not compare_models(merged_copy(copy.deepcopy(model).float()), other).others


def _batch(subject: Subject) -> Any:
    """The rows, where the models can be compared on them by their ids."""
    return subject.rows if subject.loss in BY_IDS else None


def _judge(found: Comparison, sheet: Sheet, what: str, held: HeldChange | None) -> None:
    lacks = [one for one in found.others if one.what.startswith("only")]
    if found.logits_apart is not None and not math.isfinite(found.logits_apart):
        sheet.miss(f"{what} model", "its logits are not finite")
        sheet.doubt(f"the logits of the {what} model are not finite")
        return
    is_apart = found.logits_apart is not None and found.logits_apart > APART
    is_base = held is not None and held.is_base and not found.is_same
    is_fine = found.is_same or found.logits_apart is not None
    if held is not None and _is_rounded(found, held):
        sheet.clear(f"{what} model", f"{held.said}; the rest is rounding")
        return
    if not is_base and not is_apart and is_fine and not (lacks and found.logits_apart is None):
        sheet.clear(f"{what} model", found.said or found.headline)
        return
    said = (found.headline, held.said) if held else (found.headline,)
    if is_apart or is_base:
        apart = (
            "" if found.logits_apart is None else f" up to {found.logits_apart:.2g} of their spread"
        )
        sheet.became(OTHER, f"the logits of the {what} and the trained model are{apart} apart")
    if is_base or lacks:
        why = f"the {what} weights are those of the base: the adapter is not in them"
        alone = f"{len(lacks)} tensors are in one of the two models only"
        fix = "rename the keys of the saved adapter to those that the loading model misses"
        place = _keys(found, lacks)
        why = why if is_base else alone
        sheet.find("adapter_not_loaded", COUNTED, *said[::-1], place=place, why=why, advice=fix)
        return
    why, fix = _how_they_differ(what, held)
    sheet.find("merged_not_equal", MEASURED + 1, *said, place=found.place, why=why, advice=fix)


def _is_rounded(found: Comparison, held: HeldChange) -> bool:
    """The whole change is in the other weights, and none differs by more than its format rounds."""
    return abs(held.share - 1) < WHOLE and held.levels > GRID and not found.others


def _keys(found: Comparison, lacks: list) -> str:
    return lacks[0].name if lacks else f"keys of {found.place}"


def _how_they_differ(what: str, held: HeldChange | None) -> tuple[str, str]:
    """The headline and the fix, by how much of the adapter's change the other weights hold."""
    if held is None:
        return f"the {what} model computes other logits than the one that was trained", ""
    if held.levels <= GRID:
        return (
            f"the {what} weights stand on a grid of {held.levels} values a block: of the adapter's "
            f"change {held.share:.0%} is in them, the rest was rounded away",
            "merge into 16-bit weights and serve those, or serve the adapter beside the base",
        )
    if held.rest < FITS:
        return (
            f"the {what} weights hold the adapter's change {held.share:.2f} times",
            "merge it once, with the scale it was trained with",
        )
    return f"the {what} weights are neither the base's nor the merged ones", ""
