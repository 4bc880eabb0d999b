"""Looks at heads and adapters as they stand before the first step: drawn, frozen, without scale."""

from statistics import fmean

import torch
from torch import nn

from course_utils.diagnostics.diagnosis.looks.adapter import HEADS
from course_utils.diagnostics.diagnosis.measures.comparing import adds_to_weight
from course_utils.diagnostics.diagnosis.measures.one_loss import take_loss
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, Subject
from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.loss_kind import Loss, speaks_for

CHANGED = 0.01  # of a weight's size
EVEN = 1e-4  # of a row's length: how far those of a head that was not drawn may differ
ZERO_FACTORS = ("lora_B", "hada_w2_b", "lokr_w1")  # that begin at 0, of LoRA, LoHa and LoKr
STRONG = 64.0  # times B @ A: beyond it a step of a usual rate throws the weights about
AS_DRAWN = 0.1  # by how much the spread of lora_B may miss that of a new nn.Linear


@speaks_for(Loss.ROWS, Loss.TAGS, Loss.SPANS, Loss.SCORES)
def look_at_frozen_head(subject: Subject, sheet: Sheet) -> None:
    """A head whose bias is exactly 0 has never been trained.

    Frozen rows of one length were chosen: those that are drawn differ.
    """
    if any(one.key == "head_is_new" for one in sheet.found) or subject.has_ended:
        return
    named = [
        (name, module)
        for name, module in subject.model.named_modules()
        if isinstance(module, nn.Linear) and set(name.split(".")) & set(HEADS)
    ]
    drawn = [(n, m) for n, m in named if m.bias is not None and not bool(m.bias.any())]
    if not drawn or any(p.requires_grad for _, m in named for p in m.parameters()):
        return
    if not subject.trainable() or all(_has_rows_of_one_length(m.weight) for _, m in drawn):
        return
    sheet.find(
        "head_frozen",
        MEASURED + 0.5,
        f"{drawn[0][0]} requires no gradient, and its bias is exactly 0, as it is drawn",
        f"{len(subject.trainable())} other tensors are trained",
        place=drawn[0][0],
    )


@torch.no_grad()
def _has_rows_of_one_length(weight: torch.Tensor) -> bool:
    """Of a (classes, width) head: whether it looks made: orthogonal, a simplex, or normed vectors.

    >>> _has_rows_of_one_length(torch.tensor([[3.0, 4.0], [5.0, 0.0]]))
    True
    """
    lengths = weight.float().norm(dim=1)
    least, most = float(lengths.min()), float(lengths.max())
    return len(lengths) > 1 and 0 < most <= (1 + EVEN) * least


def look_at_start_of_adapter(subject: Subject, sheet: Sheet) -> None:
    layers = [one for one in subject.model.modules() if adds_to_weight(one)]
    layers = [one for one in layers if hasattr(one, "scaling")]  # VeRA has none
    if not layers:
        return
    if _is_untrained(subject):
        _other_adapter(subject, layers, sheet)
    scales = {_scale(one, name) for one in layers for name in one.active_adapters}
    if scales == {0.0}:
        said = f"the scaling of all {len(layers)} adapted layers is 0 (lora_alpha / r)"
        sheet.find("adapter_without_effect", COUNTED, said, place="lora_alpha")
        return
    if max(scales) > STRONG:
        said = f"lora_alpha / r is {max(scales):g} in {len(layers)} adapted layers"
        sheet.find("adapter_too_strong", LIKELY, said, place="lora_alpha")
    sheet.show("scale of the adapter", ", ".join(f"{scale:g}" for scale in sorted(scales)[:3]))
    if _is_untrained(subject) and all(map(_is_dead, layers)):
        said = f"lora_A and lora_B of all {len(layers)} adapted layers are 0"
        sheet.find(
            "adapter_without_effect",
            COUNTED + 1,
            said,
            place="lora_A, lora_B",
            why="both factors of the adapter are 0: the gradient of each is a product with the "
            "other, so neither can ever move",
            advice="set lora_B to 0 alone, and leave lora_A as it is drawn",
        )
        return
    config = getattr(subject.model, "active_peft_config", None)
    if getattr(config, "init_lora_weights", True) is not False or not _is_untrained(subject):
        return
    with torch.no_grad():
        share = max(_share(one) for one in layers)
        is_drawn = _is_drawn(layers)
    if share > CHANGED and is_drawn:
        said = f"before the first step it changes a weight by {share:.0%} of its size"
        more = "init_lora_weights is False"
        sheet.find("adapter_begins_random", COUNTED, said, more, place="init_lora_weights")


def _scale(layer: nn.Module, name: str) -> float:
    """What B @ A is multiplied by: AdaLoRA divides by its present rank in the forward pass."""
    ranks = getattr(layer, "ranknum", {})
    return float(layer.scaling[name]) / (float(ranks[name]) if name in ranks else 1.0)


def _is_drawn(layers: list[nn.Module]) -> bool:
    """Whether lora_B has the spread of a new nn.Linear, which a trained one has lost."""
    parts = [(getattr(one, "lora_B", {}), one.active_adapters) for one in layers]
    made = [part[name] for part, names in parts for name in names if name in part]
    weights = [one.weight.float() for one in made if hasattr(one, "weight")]  # not AdaLoRA's
    spreads = [float(one.std()) * (3 * one[0].numel()) ** 0.5 for one in weights]
    return not spreads or abs(fmean(spreads) - 1) < AS_DRAWN


def _other_adapter(subject: Subject, layers: list[nn.Module], sheet: Sheet) -> None:
    """Of a new adapter and one that was trained before, the one that stands idle."""
    active = {name for one in layers for name in one.active_adapters}
    size: dict[str, float] = {}
    factor = next((n for n in ZERO_FACTORS if getattr(layers[0], n, None)), ZERO_FACTORS[0])
    for one in layers:
        for name, b in getattr(one, factor, {}).items():
            weight = getattr(b, "weight", b)  # AdaLoRA's are parameters
            size[name] = max(size.get(name, 0.0), float(weight.detach().abs().max()))
    drawn = [name for name, largest in size.items() if largest == 0]
    trained = [name for name, largest in size.items() if largest > 0]
    if not drawn or not trained or subject.kind == PAIRS:  # of pairs it is the reference
        return
    new, old = drawn[0], trained[0]
    if list(size).index(new) > list(size).index(old) and old in active:
        advice = f"model.set_adapter({new!r}) before the Trainer or the optimizer is made"
        said = f"the active adapter is {old!r}, and its {factor} is not 0: it was trained before"
        more = f"{new!r} is not active, and all of its {factor} are 0"
        why = ""
    elif list(size).index(new) < list(size).index(old) and active == {new}:
        if _is_asked_for(old, layers[0], subject):
            return
        advice = f"model.set_adapter({old!r}) behind load_adapter"
        said = f"{old!r} was loaded, its {factor} is not 0, and it is not active"
        more = f"the active adapter is {new!r}, and all of its {factor} are 0"
        why = (
            f"a new adapter is trained in place of the one that was loaded: load_adapter does not "
            f"make it active, so what {old!r} has learnt takes no part"
        )
    else:
        return  # a loaded adapter that was made active, or two of one age
    key, place = "another_adapter_trained", f"set_adapter, {next(iter(active))!r}"
    sheet.find(key, COUNTED, said, more, place=place, why=why, advice=advice)


def _is_asked_for(name: str, layer: nn.Module, subject: Subject) -> bool:
    """Whether a loss of one's own makes this adapter the active one for a while, as a teacher."""
    if not subject.has_own_loss:
        return False
    seen: set[str] = set()
    handle = layer.register_forward_pre_hook(Hook(lambda one, _: seen.update(one.active_adapters)))
    try:
        with put_back(subject):
            take_loss(subject)
    finally:
        handle.remove()
    return name in seen


def _is_dead(layer: nn.Module) -> bool:
    parts = [getattr(layer, name, {}) for name in ("lora_A", "lora_B")]
    factors = [
        getattr(part[name], "weight", part[name])
        for part in parts
        for name in layer.active_adapters
        if name in part
    ]
    return len(factors) >= len(parts) and not any(bool(one.any()) for one in factors)


def _is_untrained(subject: Subject) -> bool:
    """Whether no step was taken; of a model alone nobody knows."""
    if subject.trainer is not None:
        return not subject.has_ended
    return subject.optimizer is not None and not subject.optimizer.state


def _share(layer: nn.Module) -> float:
    delta = sum(layer.get_delta_weight(name) for name in layer.active_adapters)
    return float(delta.norm() / layer.get_base_layer().weight.norm())
