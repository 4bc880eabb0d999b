"""Watches every ATen operation of one step, forward, backward and optimizer.

A TorchDispatchMode: autograd runs its own operations through it too. It only looks; what it
returns is what the operation returned. Each look waits for the device: trace a step, not a run.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.optim import optimizer as optimizers

from course_utils.diagnostics.libraries.pytorch import (
    OpOverload,
    TorchDispatchMode,
    next_sequence_number,
    running_node,
    sequence_number,
    tree_leaves,
)
from course_utils.diagnostics.nonfinite.events import Event, Source
from course_utils.diagnostics.nonfinite.explain import Call, explain, is_fresh, locate
from course_utils.diagnostics.nonfinite.modules import ModuleNames
from course_utils.diagnostics.nonfinite.origins import Origins, Site
from course_utils.diagnostics.nonfinite.places import Places, find_places
from course_utils.diagnostics.nonfinite.signatures import Signature, read_signature
from course_utils.diagnostics.nonfinite.values import (
    Values,
    address_of,
    is_readable,
    look,
)

LITERAL = {"lift_fresh", "lift_fresh_copy"}  # torch.tensor(...): the code wrote the values


@dataclass(frozen=True)
class Input:
    """One floating input as it was before the call, with the event behind it if not finite."""

    tensor: Tensor
    values: Values
    event: Event | None


class Tracer(TorchDispatchMode):
    """Records an Event for each operation that put out something non-finite."""

    def __init__(self, modules: ModuleNames, inputs: dict[int, str]):
        super().__init__()
        self.modules = modules
        self.origins = Origins(modules, inputs)
        self.unread: list[str] = []  # operations the tracer itself failed to read
        self._in_optimizer = False
        self._forward: dict[int, tuple[str, Site]] = {}  # autograd sequence number -> operation

    def __enter__(self) -> "Tracer":
        self.modules.__enter__()
        self._handles = [
            optimizers.register_optimizer_step_pre_hook(lambda *_: self._mark_optimizer(True)),
            optimizers.register_optimizer_step_post_hook(lambda *_: self._mark_optimizer(False)),
        ]
        return super().__enter__()

    def __exit__(self, *exc) -> None:
        super().__exit__(*exc)
        for handle in self._handles:
            handle.remove()
        self.modules.__exit__(*exc)

    def _mark_optimizer(self, value: bool) -> None:
        self._in_optimizer = value

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.origins.num_operations += 1
        kwargs = kwargs or {}
        before = self._or_unread(func, self._look_before, func, args, kwargs)
        result = func(*args, **kwargs)
        if before is not None:
            self._or_unread(func, self._look_after, result, *before)
        return result

    def _or_unread(self, func: OpOverload, look_at: Callable[..., Any], *args) -> Any:
        """What `look_at` returns; None, and a note, if this operation is beyond the tracer."""
        try:
            return look_at(*args)
        except Exception as error:
            self.unread.append(f"{func}: {type(error).__name__}: {error}")
            return None

    def _look_before(self, func: OpOverload, args: tuple, kwargs: dict) -> tuple:
        signature = read_signature(func)
        site = self._find_site(signature)
        calls = list(signature.split(args, kwargs))
        return signature, site, calls, [self._look_at_inputs(signature, call) for call in calls]

    def _look_after(
        self, result: Any, signature: Signature, site: Site, calls: list, before: list
    ) -> None:
        for position, (call, (arguments, inputs)) in enumerate(zip(calls, before, strict=True)):
            for output in signature.outputs(result, call, position):
                self.origins.remember(output, site)
                self._record(signature, arguments, inputs, output, site)

    def _find_site(self, signature: Signature) -> Site:
        node = running_node()
        # Activation checkpointing runs modules again inside the backward pass: that is forward.
        if node is not None and not (self.modules.is_running and torch.is_grad_enabled()):
            return self._find_backward_site(node)
        number = next_sequence_number() - 1  # of the node that was made for this call
        if number in self._forward and not self._in_optimizer:
            return Site("forward", self.modules.current, "", Places())
        phase = "optimizer" if self._in_optimizer else "forward"
        site = Site(phase, self.modules.current, "", find_places())
        self._forward.setdefault(number, (signature.name, site))
        return site

    def _find_backward_site(self, node) -> Site:
        """A backward operation stands where the forward operation stood that it belongs to."""
        if node.name() == "torch::autograd::AccumulateGrad":
            return Site("backward", "", "", Places())
        unknown = ("", Site("backward", "", "", Places()))
        name, forward = self._forward.get(sequence_number(node), unknown)
        if isinstance(node, BackwardCFunction) or not name:
            name = node.name().rpartition("Backward")[0] or node.name()
        return Site("backward", forward.module, name, forward.places)

    def _look_at_inputs(self, signature: Signature, call: dict) -> tuple[dict, list[Input]]:
        """The arguments with a copy of what the call will overwrite, and the floating ones."""
        arguments, inputs = dict(call), []
        for name, value in call.items():
            if name in signature.unread:
                arguments[name] = None
                continue
            if isinstance(value, Tensor) and name in signature.written:
                arguments[name] = value.clone()
            originals, kept = tree_leaves(value), tree_leaves(arguments[name])
            for original, copy in zip(originals, kept, strict=True):
                if isinstance(original, Tensor) and is_readable(original):
                    values = look(original)
                    event = None if values.is_finite else self.origins.event_of(original, values)
                    inputs.append(Input(copy, values, event))
        return arguments, inputs

    @property
    def note(self) -> str:
        """What was not seen, in a sentence; "" when everything was."""
        sentences = [self.origins.note] if self.origins.note else []
        if self.unread:
            count = len(self.unread)
            sentences.append(f"{count} operations could not be traced, the first {self.unread[0]}.")
        return " ".join(sentences)

    def _record(
        self, signature: Signature, arguments: dict, inputs: list[Input], output: Tensor, site: Site
    ) -> None:
        """Keep the event of one output, if it is not finite and this call made it."""
        if not is_readable(output) or (values := look(output)).is_finite:
            return
        address = address_of(output)
        if signature.name in LITERAL:
            inputs = []  # the trail begins here
        elif not signature.written and address in {address_of(i.tensor) for i in inputs}:
            return  # a view: the event of its storage stands
        if signature.name.startswith(("empty", "new_empty")):
            if output.device.type != "cpu":
                return  # a kernel may fill it that is not seen
            places = self._places_now(site)
            site = replace(site, phase="already in unwritten memory", places=places)
            self.origins.keep(output, self.origins.event(output, values, site))
            return
        if site.phase == "optimizer":  # no module is running: name the weight instead
            _, name = self.modules.named_tensors().get(address, ("", "an optimizer's state"))
            site = replace(site, module=name)
        site = replace(site, places=self._places_now(site))
        details = _describe(signature, arguments, inputs, output, values)
        self.origins.keep(output, self.origins.event(output, values, site, **details))

    def _places_now(self, site: Site) -> Places:
        """Lines of the call itself where there are any, else those of its forward operation."""
        now = find_places()
        return now if now.line is not None else site.places if site.places.line else now


def _describe(
    signature: Signature, arguments: dict, inputs: list[Input], output: Tensor, values: Values
) -> dict:
    """The fields of an Event that tell what the call did to its inputs."""
    call = Call(
        name=signature.name,
        arguments=arguments,
        is_pointwise=signature.is_pointwise,
        inputs=[(i.tensor, i.values) for i in inputs],
        output=output,
        out=values,
    )
    fresh = is_fresh(call)
    made_nan = values.has_nan and not any(i.values.has_nan for i in inputs)
    bad = [i for i in inputs if i.event is not None]
    numbers = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, float)]
    return {
        "operation": signature.name,
        "largest_input": max((i.values.largest for i in inputs), default=0.0),
        "only_neg_inf": bool(bad) and all(i.values.num_nan + i.values.num_inf == 0 for i in bad),
        "is_fresh": fresh,
        "is_written": signature.name in LITERAL or not all(map(math.isfinite, numbers)),
        "sentence": explain(call) if fresh or made_nan else "",
        **locate(call),
        "sources": tuple(Source(i.event, i.values.has_nan, i.values.has_inf) for i in bad),
    }
