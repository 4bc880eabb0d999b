"""Measures one training step at every module. Changes nothing, and judges nothing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.libraries.pytorch import tree_leaves
from course_utils.diagnostics.nonfinite.state import undo_optimizer_step
from course_utils.diagnostics.one_step import open_model, require_loss, training_step
from course_utils.diagnostics.range_profile.magnitudes import measure, read
from course_utils.diagnostics.range_profile.measurement import Kind, Measurement
from course_utils.diagnostics.range_profile.report import RangeProfile


def profile_ranges(
    target: Any,
    batch: Any,
    *,
    loss_of: Callable[[Any], Any] | None = None,
    backward: bool = True,
    optimizer: torch.optim.Optimizer | None = None,
) -> RangeProfile:
    """Run one step and measure every number that a module takes, returns, holds or receives.

    Args:
        target: a model (called as `model(**batch)`) or a Trainer (its `compute_loss`). Load it
            in float32: another format measures what is left, not what was needed.
        batch: what the target takes; for a Trainer a batch from its data loader.
        loss_of: a function of the batch that calls the model and returns the loss.
        backward: False measures a forward pass without gradients, and needs no loss.
        optimizer: if given, it steps, its state and the new weights are measured, and the step is
            undone. Without it the verdict does not cover the step, and says so.

    Returns:
        A report; `survives("float16")` answers before training, `draw(ax)` shows the layers.

    Raises:
        BadRequest: there is no loss, or `target` has no modules.

    Numerics:
        What a module computes inside and does not return (attention scores, the squares in a
        norm) is not seen; most kernels keep it in float32 anyway. -inf, and the lowest number
        of a dtype, are masks and not counted. Needs room for some float32 copies of the largest
        tensor, which is mostly the logits.

    >>> model = nn.Linear(2, 1)
    >>> profile = profile_ranges(model, torch.tensor([[1e5, 1.0]]), backward=False)
    >>> bool(profile.survives("fp16")), profile.survives("fp16").first.place
    (False, 'input of the model')
    """
    opened = open_model(target, loss_of)
    model = opened.roots[""]
    recorder = Recorder(model)
    with training_step(opened):
        recorder.parameters(Kind.WEIGHTS, lambda weight: weight)
        with recorder:
            if not backward:
                with torch.no_grad():
                    opened.loss_of(batch)
            else:
                require_loss(opened.loss_of(batch)).backward()
        if backward:
            recorder.parameters(Kind.WEIGHT_GRADIENTS, lambda weight: weight.grad)
        if optimizer is not None:
            with undo_optimizer_step(optimizer):
                optimizer.step()
                recorder.optimizer_state(optimizer)
                recorder.parameters(Kind.STEPPED, lambda weight: weight)
    return RangeProfile(
        measured=recorder.result(),
        dtypes=tuple({_name(p.dtype): 0 for p in model.parameters()}),
        eps=_eps(optimizer),
    )


class Recorder:
    """While active, measures the tensors at every module; nothing waits for the device."""

    def __init__(self, model: nn.Module) -> None:
        self._names = {module: name for name, module in model.named_modules()}
        self._parameters = dict(model.named_parameters())
        self._seen = WeakIdKeyDictionary()
        self._measured: list[tuple[Kind, str, str, str, Tensor]] = []

    def __enter__(self) -> "Recorder":
        self._handles = []
        for module in self._names:
            self._handles.append(module.register_forward_pre_hook(Hook(self._look_at_inputs)))
            self._handles.append(module.register_forward_hook(Hook(self._look_at_outputs)))
        return self

    def __exit__(self, *_exc) -> None:
        for handle in self._handles:
            handle.remove()

    def parameters(self, kind: Kind, tensor_of: Callable[[Tensor], Tensor | None]) -> None:
        for name, parameter in self._parameters.items():
            self._note(kind, *_split(name), tensor_of(parameter))

    def optimizer_state(self, optimizer: torch.optim.Optimizer) -> None:
        names = {parameter: name for name, parameter in self._parameters.items()}
        for parameter, state in optimizer.state.items():
            module, detail = _split(names.get(parameter, "a parameter outside the model"))
            for key, value in state.items():
                if isinstance(value, Tensor) and value.shape == parameter.shape:
                    self._note(Kind.OPTIMIZER, module, f"{detail} {key}", value)

    def result(self) -> tuple[Measurement, ...]:
        """All measurements, places that were passed several times as one; one transfer."""
        merged = {}
        vectors = read([vector for *_, vector in self._measured])
        for (*key, _), magnitudes in zip(self._measured, vectors, strict=True):
            known = merged.get(tuple(key))
            merged[tuple(key)] = magnitudes if known is None else known | magnitudes
        return tuple(
            Measurement(kind, module, detail, magnitudes, dtype)
            for (kind, module, detail, dtype), magnitudes in merged.items()
        )

    def _note(self, kind: Kind, module: str, detail: str, tensor: Tensor | None) -> None:
        if tensor is not None and tensor.is_floating_point() and tensor.numel():
            self._measured.append((kind, module, detail, _name(tensor.dtype), measure(tensor)))

    def _look_at_inputs(self, module: nn.Module, args: tuple) -> None:
        self._look(module, "input", args)

    def _look_at_outputs(self, module: nn.Module, _args: tuple, output: Any) -> None:
        self._look(module, "output", output)

    def _look(self, module: nn.Module, detail: str, values: Any) -> None:
        """Measure tensors that no other module has shown: sums between modules show as inputs."""
        name = self._names[module]
        for tensor in tree_leaves(values):
            if not isinstance(tensor, Tensor) or tensor in self._seen:
                continue
            self._seen[tensor] = True
            self._note(Kind.ACTIVATIONS, name, detail, tensor)
            if tensor.requires_grad:
                tensor.register_hook(partial(self._note, Kind.GRADIENTS, name, detail))


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _eps(optimizer: torch.optim.Optimizer | None) -> float | None:
    """The number that the optimizer adds before it divides; the smallest of its groups."""
    groups = [] if optimizer is None else optimizer.param_groups
    known = [group["eps"] for group in groups if isinstance(group.get("eps"), float)]
    return min(known, default=None)


def _split(name: str) -> tuple[str, str]:
    module, _, own = name.rpartition(".")
    return module, own
