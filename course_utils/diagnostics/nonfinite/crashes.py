"""Explains exceptions that end a training step, from its batch and its model.

Reads both and runs nothing again. Shape letters: B = rows of the batch, T = token position.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.nonfinite.batches import tensors_in
from course_utils.diagnostics.nonfinite.case import Cause
from course_utils.diagnostics.nonfinite.coverage import CUT_LOSS
from course_utils.diagnostics.nonfinite.explain import position_of
from course_utils.diagnostics.nonfinite.report import NonFiniteReport
from course_utils.diagnostics.nonfinite.targets import Target
from course_utils.diagnostics.nonfinite.values import all_finite

OUT_OF_RANGE = re.compile(r"out of range|out of bounds|index .* exceeds", re.I)
IGNORED = -100
LOST = Cause(
    "index out of range on the device",
    "an id, label or index was out of range inside a CUDA kernel, and nothing that is on the "
    "device can be read after that",
    "take the same step on the CPU (use_cpu=True, or model.cpu()) inside watch: there it is an "
    "IndexError, and the report names the id and its row",
)


def explain(
    error: BaseException, batch: Any, target: Target, broken_on_entry: Mapping[str, str]
) -> NonFiniteReport | None:
    """Explain the error that ended the step; None for an error of another kind.

    Args:
        broken_on_entry: weights that were not finite before the first step, and what they held.
    """
    text = str(error)
    verdict, rows = None, ()
    if "device-side assert" in text:
        verdict = LOST
    elif OUT_OF_RANGE.search(text):
        verdict, rows = _out_of_range(batch, target)
    elif "unscale FP16 gradients" in text:
        verdict = _half_gradients(target)
    elif "does not require grad" in text:
        verdict = Cause("loss without a graph", *CUT_LOSS)
    elif "probability tensor contains" in text:
        verdict = _sampling(target, broken_on_entry)
    if verdict is None:
        return None
    first_line = text.partition("\n")[0]
    return NonFiniteReport(
        found=True,
        note=f"{type(error).__name__}: {first_line}",
        batch=batch,
        rows=rows,
        verdict=verdict,
    )


def _out_of_range(batch: Any, target: Target) -> tuple[Cause | None, tuple[int, ...]]:
    model = next(iter(target.roots.values()), None)
    sizes = _sizes(model) if model is not None else {}
    for name, tensor in tensors_in(batch):
        kind = _kind_of(name)
        if kind not in sizes or tensor.is_floating_point() or not tensor.dim():
            continue
        ignored = IGNORED if kind == "labels" else 0
        bad = (tensor >= sizes[kind]) | ((tensor < 0) & (tensor != ignored))
        if bool(bad.any()):
            place = position_of(bad)
            return _bad_id(name, kind, tensor, place["at"], sizes[kind]), place["rows"]
    width = max((t.shape[1] for n, t in tensors_in(batch) if "ids" in n and t.dim() > 1), default=0)
    if width > sizes.get("positions", width):
        return _too_long(width, sizes["positions"]), ()
    return None, ()


def _kind_of(name: str) -> str:
    """What the numbers of a column mean: "labels", "positions", "ids", or nothing.

    >>> _kind_of("input_ids"), _kind_of("position_ids"), _kind_of("attention_mask")
    ('ids', 'positions', '')
    """
    known = {
        "label": "labels",
        "position": "positions",
        "input_ids": "ids",
        "completion_ids": "ids",
    }
    return next((kind for part, kind in known.items() if part in name), "")


def _bad_id(name: str, kind: str, tensor: Tensor, at: tuple[int, ...], size: int) -> Cause:
    what = "classes" if kind == "labels" else f"{kind} in the embedding"
    why = f"{name}{list(at)} is {int(tensor[at])}, and there are {size} {what} (0 to {size - 1})"
    if kind == "labels":
        used = tensor[tensor != IGNORED]
        if int(used.min()) == 1 and int(used.max()) == size:
            return Cause(
                "label out of range",
                f"{why}: the labels are numbered from 1 to {size}",
                "subtract 1 from the labels; a larger num_labels would only add a class that no "
                "row has",
            )
        return Cause(
            "label out of range",
            why,
            "use -100 for what is to be ignored (not -1 or a pad id), and num_labels, or a "
            "vocabulary, as large as the labels need",
        )
    return Cause(
        "id out of range",
        why,
        "use the tokenizer this model was trained with; after adding tokens call "
        "model.resize_token_embeddings(len(tokenizer))",
    )


def _too_long(width: int, limit: int) -> Cause:
    return Cause(
        "sequence too long",
        f"the rows are {width} tokens long, and the model has {limit} positions",
        f"truncate: max_length={limit}",
    )


def _sizes(model: nn.Module) -> dict[str, int]:
    """How many ids, labels and positions the model has, as far as its modules show it."""
    embeddings = {n: m for n, m in model.named_modules() if isinstance(m, nn.Embedding)}
    positions = [m.num_embeddings for n, m in embeddings.items() if "position" in n or "wpe" in n]
    rows = [
        m.num_embeddings for n, m in embeddings.items() if "position" not in n and "wpe" not in n
    ]
    heads = [m.out_features for m in model.modules() if isinstance(m, nn.Linear)]
    sizes = {"ids": rows[:1], "labels": heads[-1:], "positions": positions[:1]}
    return {kind: size[0] for kind, size in sizes.items() if size}


def _half_gradients(target: Target) -> Cause:
    half = [
        name
        for root in target.modules
        for name, p in root.named_parameters()
        if p.requires_grad and p.dtype == torch.float16
    ]
    which = f"`{half[0]}` and {len(half) - 1} more of the trainable weights" if half else "some"
    return Cause(
        "trainable weights in float16",
        f"{which} are float16, and a scaler only unscales gradients of float32 weights",
        "load the model in float32 (dtype='float32') and leave fp16=True, or cast what is "
        "trained: p.data = p.data.float() for p in model.parameters() if p.requires_grad",
    )


def _sampling(target: Target, broken_on_entry: Mapping[str, str]) -> Cause:
    kind = "sampling from broken weights"
    for name, held in broken_on_entry.items():
        why = f"`{name}` was not finite before the first step ({held})"
        return Cause(kind, why, "load the checkpoint afresh and look at this tensor in its file")
    bad = [n for r in target.modules for n, p in r.named_parameters() if not all_finite(p)]
    if bad:
        why = f"the weights are not finite any more (`{bad[0]}` and {len(bad) - 1} more)"
        return Cause(kind, why, "run it inside watch(trainer): the step that broke them is named")
    return Cause(
        "sampling from broken scores",
        "the weights are finite, and the scores of the next token were not",
        "trace the forward pass, trace_step(model, prompts), and try it in bfloat16 or float32",
    )
