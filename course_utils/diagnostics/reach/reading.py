"""Which tensors of a model have an adapter, or are trained themselves.

PEFT's wrappers are known by what they hold (`base_layer`, `original_module`), so that any version
and any method of PEFT is read, and nothing of PEFT is imported.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from course_utils.diagnostics.reach.groups import innermost, places

ADAPTED, TRAINED, ROWS, FROZEN = "adapter", "trained", "some rows", "frozen"


@dataclass(frozen=True)
class Reached:
    """One tensor of the model: `state` is ADAPTED, TRAINED, ROWS or FROZEN.

    `is_stacked` marks a tensor that is no layer's weight: `target_modules` does not reach it.
    """

    name: str
    group: str
    size: int
    state: str
    is_stacked: bool
    is_matrix: bool


def base_of(model: nn.Module) -> nn.Module:
    """The model below a PeftModel, still with what was put into its layers."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def has_adapter(model: nn.Module) -> bool:
    """Whether any module of the model is wrapped, or virtual tokens come before its rows."""
    is_wrapped = any(innermost(module) is not module for module in model.modules())
    return is_wrapped or base_of(model) is not model


def read(model: nn.Module) -> list[Reached]:
    """Every tensor of the model with its group and state."""
    base = base_of(model)
    own, state = _of_wrappers(base)
    return [
        Reached(
            name=one.name,
            group=one.group,
            size=_size(one.tensor),
            state=state.get(id(one.tensor)) or (TRAINED if one.tensor.requires_grad else FROZEN),
            is_stacked=not _is_layer(one.owner),
            is_matrix=one.tensor.dim() > 1,
        )
        for one in places(base, own)
    ]


def _of_wrappers(base: nn.Module) -> tuple[set[int], dict[int, str]]:
    """The adapters' own tensors, and the state of those that they are put on, by `id`."""
    own, state = set(), {}
    for module in base.modules():
        inside = [m for m in (getattr(module, n, None) for n in ("base_layer", "original_module"))]
        inside = next((m for m in inside if isinstance(m, nn.Module)), None)
        if inside is None:
            continue
        mine = {id(p) for p in module.parameters()} - {id(p) for p in inside.parameters()}
        own |= mine
        if mine:
            state |= _state_of(module)
    return own, state


def _state_of(wrapper: nn.Module) -> dict[int, str]:
    inner = innermost(wrapper)
    if getattr(wrapper, "token_adapter", None) is not None or hasattr(
        wrapper, "trainable_tokens_delta"
    ):
        return {id(p): ROWS for p in inner.parameters()}
    if getattr(wrapper, "modules_to_save", None):
        return {id(p): TRAINED for p in inner.parameters()}
    name = getattr(wrapper, "parameter_name", None) or "weight"
    target = getattr(inner, name, None)
    targets = [target] if isinstance(target, Tensor) else list(inner.parameters())
    return {id(p): ADAPTED for p in targets}


def _is_layer(owner: nn.Module) -> bool:
    """Whether PEFT can wrap the module: a linear layer, a convolution or an embedding."""
    known = (nn.Linear, nn.Embedding, nn.Conv1d, nn.Conv2d, nn.Conv3d)
    return isinstance(owner, known) or type(owner).__name__ in ("Conv1D", "Linear4bit")


def _size(tensor: Tensor) -> int:
    """Weights of a tensor, also where it is a shard of ZeRO-3 or packed to 4 bits."""
    quantised = getattr(getattr(tensor, "quant_state", None), "shape", None)
    return getattr(tensor, "ds_numel", None) or (
        quantised.numel() if quantised is not None else tensor.numel()
    )
