"""One forward pass that leaves the model in the mode it was in.

Shape letters: B rows, T tokens, V vocabulary or scores.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.reach.reading import base_of

TAKEN = ("input_ids", "attention_mask", "position_ids", "token_type_ids")


@contextmanager
def evaluated(model: nn.Module) -> Iterator[None]:
    """In the block: no dropout, no graph; afterwards every module is in its old mode."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def has_ids(batch: Any) -> bool:
    """Whether a batch holds token ids of shape (B, T)."""
    ids = batch.get("input_ids") if isinstance(batch, Mapping) else None
    return isinstance(ids, Tensor) and ids.dim() == 2 and ids.numel() > 0


def taken_by(model: nn.Module, batch: Mapping) -> dict[str, Tensor]:
    """What a model of texts takes of a batch, on its device."""
    device = next(model.parameters()).device
    return {k: batch[k].to(device) for k in TAKEN if isinstance(batch.get(k), Tensor)}


def arguments_of(model: nn.Module) -> Mapping[str, Parameter]:
    """The arguments of a model's forward pass; of an adapter, those of its base."""
    return signature(base_of(model).forward).parameters


def needed_beside_ids(model: nn.Module) -> list[str]:
    """The arguments without which a forward pass raises, beside ids: the number of a user."""
    return [
        name
        for name, one in arguments_of(model).items()
        if one.default is one.empty
        and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        and name not in TAKEN
    ]


def given_beside_ids(subject: Subject) -> list[str]:
    """Other inputs of a batch that the model takes, such as an image or the number of a user."""
    batch = subject.batch if isinstance(subject.batch, Mapping) else {}
    targets = getattr(subject.trainer, "label_names", None) or ()
    return [
        name
        for name in batch
        if name in arguments_of(subject.model)
        and name not in (*TAKEN, *targets, "start_positions", "end_positions")
        and "label" not in name
        and not name.startswith("decoder_")  # what is read beside the source is made of the labels
    ]


def outputs_of(model: nn.Module, batch: Mapping) -> Tensor:
    """The logits of a batch, (B, T, V) for tokens or (B, V) for scores, in float32.

    Logits of a soft prompt, which stands before the tokens, are left out.
    """
    taken = taken_by(model, batch)
    output = model(**taken)
    logits = logits_in(output)
    logits = (output.last_hidden_state if logits is None else logits).float()  # a bare body
    return logits[:, -taken["input_ids"].shape[1] :] if logits.dim() == 3 else logits


def logits_in(output: Any) -> Any:
    """The logits of what a model returned: an attribute, a key, the first of several, or all."""
    if isinstance(output, Mapping):
        return output.get("logits")
    return getattr(output, "logits", output if isinstance(output, Tensor) else output[0])


@contextmanager
def formats_of(model: nn.Module) -> Iterator[set[torch.dtype]]:
    """Collects the formats in which the linear layers compute, autocast included."""
    seen: set[torch.dtype] = set()

    def look(_module: nn.Module, _args: tuple, output: Any) -> None:
        if isinstance(output, Tensor):
            seen.add(output.dtype)

    layers = (module for module in model.modules() if isinstance(module, nn.Linear))
    handles = [layer.register_forward_hook(look) for layer in layers]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
