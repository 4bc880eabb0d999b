"""Looks at an adapter on a head that is tied to the embedding: a merge changes both."""

import copy
import warnings

from torch import nn

from course_utils.diagnostics.diagnosis.measures.comparing import compare_models
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import APART
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.reach.groups import innermost, is_tied
from course_utils.diagnostics.reach.reading import base_of

FAR = 0.05  # of the logits' spread: more than a merge in the base's own format may change


def is_tied_and_adapted(model: nn.Module) -> bool:
    """Whether head and embedding are one tensor, and either of them has an adapter."""
    base = base_of(model)
    getters = [
        getattr(base, name, None) for name in ("get_input_embeddings", "get_output_embeddings")
    ]
    layers = [get() for get in getters if get is not None]
    return is_tied(base) and any(hasattr(layer, "get_delta_weight") for layer in layers)


def merged_copy(model: nn.Module, *, untied: bool = False) -> nn.Module:
    """A copy with its adapter merged; `untied`: with a head that is a tensor of its own before."""
    copied = copy.deepcopy(model)
    if untied:
        base = base_of(copied)
        head = innermost(base.get_output_embeddings())
        head.weight = nn.Parameter(head.weight.detach().clone())
        base.config.tie_word_embeddings = False
    with warnings.catch_warnings(record=True):  # PEFT's on tied layers: this copy is only measured
        warnings.simplefilter("default")
        return copied.merge_and_unload()


def is_merged_tied(subject: Subject, other: nn.Module, what: str, sheet: Sheet) -> bool:
    """Whether the tie alone makes the other model differ from the trained one; then it is said."""
    model, rows = subject.model, subject.rows
    if rows is None or not hasattr(model, "merge_and_unload") or not is_tied_and_adapted(model):
        return False
    found = compare_models(model, other, rows)
    if not _is_far(found.logits_apart):
        return False
    as_merged = other if what == "merged" else merged_copy(model)
    apart = compare_models(model, merged_copy(model, untied=True), rows).logits_apart
    if _is_far(compare_models(as_merged, other, rows).logits_apart) or _is_far(apart):
        return False
    sheet.became(APART, f"the {what} and the trained model: {found.said}")
    sheet.find(
        "tied_head_merged",
        COUNTED,
        found.said,
        f"with a head of its own before the merge: logits up to {apart:.2g} of their spread apart",
        place="lm_head, tied to embed_tokens",
        why=""
        if what == "served"
        else "a merge of this adapter would change the embedding too: "
        "the head, which has an adapter, is the same tensor",
    )
    return True


def _is_far(apart: float | None) -> bool:
    return apart is None or not apart <= FAR
