"""The part of a model that a tensor belongs to, by the names and classes above it.

A rule and no table of models: an unknown architecture is sorted as well, and what no rule knows
is "other".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn

EXPERTS, SHARED, ROUTER = "experts", "shared experts", "router"
ATTENTION, RECURRENT, MLP = "attention", "state space, linear attention", "dense MLP"
EMBEDDINGS, HEAD, VECTORS, OTHER = "embeddings", "head", "norms and biases", "other"
INPUTS = "vision, audio"
GROUPS = (
    *(ATTENTION, RECURRENT, MLP, SHARED, EXPERTS, ROUTER),
    *(INPUTS, EMBEDDINGS, HEAD, VECTORS, OTHER),
)
WRAPPED = ("base_layer", "original_module")  # what PEFT's wrappers call the module they wrap

_INPUTS = r"vision|visual|image|audio|speech|multi_?modal"
_ROUTER = r"router|gating\b|topkgate"
_IN_LAYERS = (  # the first pattern that is found in the names above a tensor decides
    (SHARED, r"shared_?(expert|mlp)"),
    (EXPERTS, r"experts?\b"),
    (RECURRENT, r"mamba|\bssm|linear_attn|delta|lightning|recurrent|lru|conv\b|convolution|lstm"),
    (ATTENTION, r"attn|attention|\b[qkvo]_proj\b"),
    (MLP, r"mlp|ffn|ffw|feed_?forward|dense|\bfc|intermediate|\bff\b|\b(gate|up|down)_proj\b"),
)


@dataclass(frozen=True)
class Place:
    """A tensor of the model, without PEFT's wrappers: its name, and who owns it."""

    name: str
    tensor: Tensor
    owner: nn.Module
    group: str


def innermost(module: nn.Module) -> nn.Module:
    """The model's own module below PEFT's wrappers."""
    while inner := next((m for m in (getattr(module, n, None) for n in WRAPPED) if m), None):
        module = inner
    return module


def places(model: nn.Module, adapters: set[int]) -> list[Place]:
    """Every tensor of the model but the adapters' own (by `id`), with its group."""
    head = _head(model)
    found = []
    for name, tensor in model.named_parameters():
        if id(tensor) not in adapters:
            path = list(_path(model, name))
            plain = ".".join((*(part for part, _ in path), name.rpartition(".")[2]))
            owner = path[-1][1] if path else model
            found.append(Place(plain, tensor, owner, _group(plain, tensor, path, model, head)))
    return found if any(one.group == EXPERTS for one in found) else [*map(_without_experts, found)]


def _path(model: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    module = model
    for part in name.split(".")[:-1]:
        module = getattr(module, part)
        if part not in (*WRAPPED, "token_adapter"):
            yield part, innermost(module)


def _group(plain: str, tensor: Tensor, path: list, model: nn.Module, head: nn.Module) -> str:
    family = _family(model)
    classes = [type(module).__name__.replace(family, "") for _, module in path]
    classes = [name for name in classes if not name.endswith("Layer")]  # it holds several parts
    words = " ".join((*(part for part, _ in path), *classes, plain.rpartition(".")[2])).lower()
    if re.search(_INPUTS, words):
        return INPUTS
    owner = path[-1][1] if path else model
    is_norm = "norm" in type(owner).__name__.lower() or "norm" in plain.split(".")[-2:][0]
    if tensor.dim() < 2 or plain.endswith("bias") or is_norm:
        return VECTORS
    if owner is head:
        return HEAD
    if re.search(_ROUTER, words) or _is_gate(path, model):
        return ROUTER
    if isinstance(owner, nn.Embedding):
        return EMBEDDINGS
    if re.fullmatch(r"(falcon)?mamba2?|rwkv|xlstm", family.lower()):
        return RECURRENT
    return next((group for group, known in _IN_LAYERS if re.search(known, words)), OTHER)


def _is_gate(path: list[tuple[str, nn.Module]], model: nn.Module) -> bool:
    """Whether this is the linear layer `gate` beside experts, as older routers are."""
    if not path or path[-1][0] not in ("gate", "wg"):
        return False
    parent = path[-2][1] if len(path) > 1 else model
    return any("expert" in name for name, _ in parent.named_children())


def _family(model: nn.Module) -> str:
    """The part of the class names that is the model's, such as RecurrentGemma."""
    return re.split(r"For[A-Z]|LMHead|WithLM|Model", type(model).__name__)[0] or "-"


def embeddings(model: nn.Module) -> tuple[nn.Module | None, nn.Module | None]:
    """The input embedding and the head of tokens; None where the model has or names none."""
    found = []
    for name in ("get_input_embeddings", "get_output_embeddings"):
        try:
            layer = getattr(model, name, lambda: None)()
        except NotImplementedError:  # models of images and sound
            layer = None
        found.append(layer if isinstance(layer, nn.Module) else None)
    return found[0], found[1]


def _head(model: nn.Module) -> nn.Module | None:
    _, head = embeddings(model)
    return head if head is None else innermost(head)


def is_tied(model: nn.Module) -> bool:
    """Whether the head and the embedding of the input are one tensor."""
    head, (embed, _) = _head(model), embeddings(model)
    if head is None or embed is None:
        return False
    weight = getattr(head, "weight", None)
    return weight is not None and weight is getattr(innermost(embed), "weight", None)


def _without_experts(place: Place) -> Place:
    """Where there are no experts, what is called shared is the MLP, and nothing is a router."""
    group = {SHARED: MLP, ROUTER: OTHER}.get(place.group, place.group)
    return Place(place.name, place.tensor, place.owner, group)
