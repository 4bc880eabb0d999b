"""Follows which trainable parameters a value depends on, also where autograd stops following.

Notes every crossing on the way. Never judges, never changes a value.
"""

import sys
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import FrameType

import torch
from torch import Tensor, nn
from torch.autograd.function import Function, FunctionCtx
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import CheckpointFunction, detach_variable
from torch.utils.weak import WeakIdKeyDictionary

from course_utils.diagnostics.gradient_flow.crossings import (
    Cause,
    Crossing,
    Flat,
    History,
    Input,
)
from course_utils.diagnostics.libraries.pytorch import backward_code, tree_leaves
from course_utils.diagnostics.nonfinite.places import TORCH, Place

CHECKPOINT_FORWARD = CheckpointFunction.forward.__code__
CHECKPOINT_BACKWARD = CheckpointFunction.backward.__code__
# Not the user's own detach, nor the backward formulas of torch: nothing is cut in there.
NOT_A_CUT = (detach_variable.__code__, backward_code())

# Calls whose result takes nothing but shape, dtype or device from the tensor; see also `*_as`.
VALUE_FREE = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "randint_like")
# Calls that take a value out of torch, where nobody can follow it.
ESCAPES = ("item", "tolist", "numpy", "__float__", "__int__", "__array__")
# Calls that make a tensor anew from the number of another one.
ANEW = ("tensor", "as_tensor", "scalar_tensor", "asarray")
# Calls whose derivative torch defines as 0 everywhere.
FLAT = ("round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside", "floor_divide")


@dataclass(frozen=True)
class Running:
    """A module whose forward is running."""

    name: str
    had_grad: bool  # whether gradients were enabled when it was called
    checkpointed: bool  # called from within a reentrant checkpoint


class InfluenceMode(TorchFunctionMode):
    """While active, every torch call passes through here and hands histories on."""

    def __init__(self, model: nn.Module, parameters: dict[str, Tensor]) -> None:
        super().__init__()
        self.crossings: list[Crossing] = []
        self.flat: list[Flat] = []
        self.used = 0  # bit set of the parameters that some call took
        self.in_backward = False
        self._model = model
        self._bits = {id(p): 1 << number for number, p in enumerate(parameters.values())}
        self._histories = WeakIdKeyDictionary()
        self._stack: list[Running] = []

    def __enter__(self) -> "InfluenceMode":
        self._handles = []
        self._names = {id(module): name for name, module in self._model.named_modules()}
        for module in self._model.modules():
            self._handles += [
                module.register_forward_pre_hook(self._push, prepend=True),
                module.register_forward_hook(self._pop, always_call=True),
            ]
        # What a custom function computes, in Triton perhaps, passes by no torch call.
        self._apply = vars(Function)["apply"]
        Function.apply = classmethod(lambda cls, *args, **kwargs: self._applied(cls, args, kwargs))
        return super().__enter__()

    def __exit__(self, *exc) -> None:
        super().__exit__(*exc)
        Function.apply = self._apply
        for handle in self._handles:
            handle.remove()
        self._stack.clear()

    def history(self, tensor: Tensor) -> History:
        if bit := self._bits.get(id(tensor)):
            return History(parameters=bit)
        return self._histories.get(tensor, History())

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.__self__.__name__ if func.__name__ == "__get__" else func.__name__
        if name in VALUE_FREE or name.startswith("new_") or name == "grad":
            return result
        arguments = args[:1] if name.endswith("_as") else (args, kwargs)  # type_as, expand_as
        self._follow(name, arguments, result)
        return result

    def _applied(self, function: type[Function], args: tuple, kwargs: dict) -> object:
        result = self._apply.__func__(function, *args, **kwargs)
        self._follow(function.__name__, (args, kwargs), result)
        return result

    def _follow(self, name: str, arguments: object, result: object) -> None:
        """Hand the histories of the arguments on to the result, and note whether the graph ends."""
        inputs = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, Tensor)]
        history = reduce(or_, map(self.history, inputs), History())
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        if name == "__setitem__":
            outputs = inputs[:1]
        if not history.parameters or not (outputs or name in ESCAPES):
            return
        self.used |= reduce(or_, (self._bits.get(id(tensor), 0) for tensor in inputs), 0)
        if name.rstrip("_") in FLAT and not self.in_backward:
            here = self._stack[-1].name if self._stack else ""
            self.flat.append(Flat(history.parameters, name, here, _calling_line()))
        ending = [out for out in outputs if not out.requires_grad or name in ANEW]
        starting = [t for t in inputs if t.requires_grad and self.history(t).parameters]
        if starting and (ending or not outputs):
            history |= self._cross(name, starting, ending)
        for output in outputs:
            if id(output) not in self._bits:
                self._histories[output] = self.history(output) | history

    def _cross(self, name: str, starting: list[Tensor], ending: list[Tensor]) -> History:
        """Note a crossing, unless autograd will see this call again; return its bit."""
        frame = _innermost_autograd_frame()
        code = frame.f_code if frame else None
        if code is CHECKPOINT_FORWARD and self._runs_again(frame):
            return History()  # and is looked at then
        if code not in (None, CHECKPOINT_FORWARD, CHECKPOINT_BACKWARD) or (
            self.in_backward and code is None
        ):
            return History()  # inside a function with its own derivative, or a backward formula
        cause, module = self._blame(name, ending, frame if code is CHECKPOINT_FORWARD else None)
        number = len(self.crossings)
        crossing = Crossing(cause, module, name, _calling_line(), number)
        crossing.in_recompute = code is CHECKPOINT_BACKWARD
        for tensor in starting:
            seen = Input(self.history(tensor).parameters)
            crossing.inputs.append(seen)
            if id(tensor) not in self._bits:  # of a parameter, .grad tells
                tensor.register_hook(lambda _grad, seen=seen: setattr(seen, "alive", True))
        self.crossings.append(crossing)
        return History(crossings=1 << number)

    def _runs_again(self, checkpoint: FrameType) -> bool:
        """Whether this reentrant checkpoint is part of the graph, so that backward reruns it."""
        has_grad = any(
            isinstance(a, Tensor) and a.requires_grad for a in checkpoint.f_locals["args"]
        )
        return has_grad and all(running.had_grad for running in self._outside)

    @property
    def _outside(self) -> list[Running]:
        return [running for running in self._stack if not running.checkpointed]

    def _blame(
        self, name: str, ending: list[Tensor], checkpoint: FrameType | None
    ) -> tuple[Cause, str]:
        """The cause of a crossing, and the module to look at."""
        here = self._stack[-1].name if self._stack else ""
        if not torch.is_grad_enabled():
            cause = Cause.INFERENCE_MODE if torch.is_inference_mode_enabled() else Cause.NO_GRAD
            without = [running.name for running in self._outside if not running.had_grad]
            if without:
                return cause, without[0]
            if checkpoint is None:
                return cause, here
            block = self._names.get(id(checkpoint.f_locals["run_function"]))
            owner = self._outside[-1].name if self._outside else ""
            return Cause.CHECKPOINT, owner if block is None else block
        if not ending or name in ANEW:
            return Cause.ESCAPE, here
        if name in ("detach", "detach_", "data"):
            return Cause.DETACH, here
        if any(output.is_floating_point() for output in ending):
            return Cause.OTHER, here
        return Cause.INTEGER, here

    def _push(self, module: nn.Module, _args) -> None:
        frame = None if torch.is_grad_enabled() else _innermost_autograd_frame()
        checkpointed = frame is not None and frame.f_code is CHECKPOINT_FORWARD
        # A shallow copy shares the hooks of the module it was made of, and has no name here.
        name = self._names.get(id(module), type(module).__name__)
        self._stack.append(Running(name, torch.is_grad_enabled(), checkpointed))

    def _pop(self, _module: nn.Module, _args, _output) -> None:
        self._stack.pop()


def _innermost_autograd_frame() -> FrameType | None:
    """The innermost running autograd.Function (a reentrant checkpoint is one) or engine call.

    None outside of any.
    """
    frame = sys._getframe(1)
    while frame is not None and not (frame.f_code in NOT_A_CUT or _is_autograd_function(frame)):
        frame = frame.f_back
    return frame


def _is_autograd_function(frame: FrameType) -> bool:
    code = frame.f_code
    if code.co_name not in ("forward", "backward") or not code.co_argcount:
        return False
    return isinstance(frame.f_locals.get(code.co_varnames[0]), FunctionCtx)


def _calling_line() -> Place:
    """The innermost source line outside of torch and of this file."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith((TORCH, __file__)):
        frame = frame.f_back
    return Place(file=frame.f_code.co_filename, line=frame.f_lineno)
