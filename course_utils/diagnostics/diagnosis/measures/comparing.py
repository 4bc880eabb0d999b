"""`compare_models`: the first layer in which two models differ, and whether it is only rounding.

Names are compared without what wrappers put before and into them (PEFT, DDP, torch.compile).
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.comparison import Comparison, Difference
from course_utils.diagnostics.diagnosis.measures.forward import evaluated, outputs_of

WRAPPED = re.compile(
    r"^(module\.|_orig_mod\.|base_model\.model\.)+"
    r"|\.(base_layer|_orig_mod|modules_to_save\.\w+)(?=\.|$)"
)
# PEFT keeps the module as it was beside the trained one, which stands in modules_to_save.
ADAPTER = re.compile(r"\.lora_|\.original_module\.|lora_magnitude")
# What one rounding to a format can change, relative to the largest number of a tensor.
ROUNDING = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-18}
MAX_ROWS = 8


def compare_models(
    a: nn.Module, b: nn.Module, batch: Mapping[str, Any] | None = None
) -> Comparison:
    """Compare weights by name and, with a batch, outputs layer by layer. Changes neither model.

    Args:
        a, b: two models of one architecture; either may be wrapped, or have an adapter.
        batch: `input_ids` (B, T) and what belongs to them; without it only weights are compared.

    Numerics:
        A difference counts as rounding while it is below one rounding of the narrower of the two
        formats, relative to the tensor's largest magnitude; outputs are given the depth of the
        model as a factor.

    >>> a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> b.load_state_dict(a.state_dict())
    <All keys matched successfully>
    >>> compare_models(a, b).is_same
    True
    """
    ours, theirs = aligned(weights_of(a), weights_of(b))
    weights = tuple(_different(ours, theirs))
    number = len(ours.keys() | theirs.keys())
    if batch is None:
        return Comparison(weights, None, number, why_no_outputs="no batch, so no outputs compared")
    batch = {k: v[:MAX_ROWS] for k, v in batch.items() if isinstance(v, Tensor) and v.dim()}
    with evaluated(a), evaluated(b):
        (first, at_a), (second, at_b) = (_outputs(model, batch) for model in (a, b))
    layer = next(_layers_apart(*aligned(at_a, at_b)), None)
    if first.shape != second.shape:
        return Comparison(weights, layer, number, why_no_outputs="their logits have other shapes")
    keep = _attended(batch, first)
    spread = float(first[keep].std()) or 1.0
    apart = float((first - second)[keep].abs().max()) / spread
    flips = float((first.argmax(-1) != second.argmax(-1))[keep].double().mean())
    return Comparison(weights, layer, number, apart, flips)


def _attended(batch: Mapping, logits: Tensor) -> Tensor:
    mask = batch.get("attention_mask")
    if mask is not None and mask.shape == logits.shape[:-1]:
        return mask.bool()
    return torch.ones(logits.shape[:-1], dtype=torch.bool)


def plain_name(name: str) -> str:
    """A name without its wrappers.

    >>> plain_name("base_model.model.model.layers.0.q_proj.base_layer.weight")
    'model.layers.0.q_proj.weight'
    """
    return WRAPPED.sub("", name)


def adapted(name: str, module: nn.Module) -> tuple[str, Tensor]:
    """The plain name of the weight that a layer of PEFT adapts, and the weight itself."""
    own = getattr(module, "parameter_name", None) or "weight"  # the first is of target_parameters
    return plain_name(f"{name}.{own}"), getattr(module.get_base_layer(), own).detach()


def adds_to_weight(module: nn.Module) -> bool:
    """Whether a layer of PEFT adds a product to its weight; OFT and BOFT turn the weight."""
    has_product = hasattr(module, "get_delta_weight") and hasattr(module, "base_layer")
    return has_product and not any("oft_" in name for name, _ in module.named_parameters())


def is_merged(model: nn.Module) -> bool:
    """Whether an adapter is merged into its weights: it has no part in the forward pass then."""
    return any(getattr(module, "merged", False) is True for module in model.modules())


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Weights under plain names, an adapter's product added to the weight it adapts."""
    merged: dict[str, Tensor] = {}
    for name, module in model.named_modules():
        if adds_to_weight(module):
            delta = sum(module.get_delta_weight(one) for one in module.active_adapters)
            if not getattr(module, "merged", False):
                key, weight = adapted(name, module)
                merged[key] = (weight + delta).detach()
    named = {
        plain_name(n): p.detach() for n, p in model.named_parameters() if not ADAPTER.search(n)
    }
    return named | merged


def aligned(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> tuple[dict, dict]:
    """If one model is part of the other's wrapper: names without that wrapper's prefix."""
    if ours.keys() & theirs.keys():
        return ours, theirs
    return _without_prefix(ours, theirs), _without_prefix(theirs, ours)


def _without_prefix(names: dict[str, Tensor], others: dict[str, Tensor]) -> dict[str, Tensor]:
    found = ((n, o) for n in names for o in others if n.endswith(f".{o}"))
    name, other = next(found, ("", ""))
    prefix = name.removesuffix(other)
    return {n.removeprefix(prefix): tensor for n, tensor in names.items()}


def _different(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> Iterator[Difference]:
    for name in [*ours, *(n for n in theirs if n not in ours)]:
        a, b = ours.get(name), theirs.get(name)
        if a is None or b is None:
            tied = _same_elsewhere(a if a is not None else b, theirs if b is None else ours)
            if not tied:
                yield Difference(
                    name, float("inf"), False, f"only in the {'second' if a is None else 'first'}"
                )
        elif (one := _compare(name, a, b)) is not None:
            yield one


def _same_elsewhere(tensor: Tensor, others: dict[str, Tensor]) -> bool:
    """A tied tensor is listed once in one model and under another name in the other."""
    return any(o.shape == tensor.shape and torch.equal(o, tensor) for o in others.values())


def _compare(name: str, a: Tensor, b: Tensor, factor: float = 1.0) -> Difference | None:
    if a.shape != b.shape:
        return Difference(name, float("inf"), False, f"{tuple(a.shape)} and {tuple(b.shape)}")
    gap = (a.double().cpu() - b.double().cpu()).abs()
    if not gap.numel() or float(gap.max()) == 0:
        return None
    share = float(gap.max()) / (float(a.double().abs().max()) or 1.0)
    narrow = max((a.dtype, b.dtype), key=lambda dtype: ROUNDING.get(dtype, 0.0))
    is_rounding = share <= factor * ROUNDING.get(narrow, 0.0)
    formats = " and ".join(str(t.dtype).removeprefix("torch.") for t in (a, b))
    return Difference(name, share, is_rounding, formats)


def _outputs(model: nn.Module, batch: Mapping) -> tuple[Tensor, dict[str, Tensor]]:
    """The logits, and each layer's output under its plain name, in the order of execution."""
    with _recording(model) as outputs:
        logits = outputs_of(model, batch)
    return logits, outputs


@contextmanager
def _recording(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    outputs: dict[str, Tensor] = {}

    def keep(name: str):
        def hook(_module, _args, output) -> None:
            first = output[0] if isinstance(output, tuple) and output else output
            if isinstance(first, Tensor) and first.is_floating_point():
                outputs.setdefault(name, first.detach())

        return hook

    named = ((n, m) for n, m in model.named_modules() if n and not ADAPTER.search(f"{n}."))
    handles = [
        module.register_forward_hook(keep(plain_name(name)))
        for name, module in named
        if not name.endswith("base_layer") and not hasattr(module, "keys")
    ]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def _layers_apart(at_a: dict[str, Tensor], at_b: dict[str, Tensor]) -> Iterator[Difference]:
    """Layers whose outputs differ by more than rounding could, in the order of execution."""
    depth = 8.0 * max(1, len(at_a)) ** 0.5
    for name, first in at_a.items():
        if name in at_b:
            one = _compare(name, first, at_b[name], depth)
            if one is not None and not one.is_rounding:
                yield one
