"""Records one call on the student's side: its changes, its graph, and the modes it ran in."""

import builtins
import contextlib
import io
import warnings

import torch
from torch import Tensor

from course_utils.checks import calls
from course_utils.grading.judge import mirrored_modules
from course_utils.grading.judge.values import Encoder

MAX_PRINTED = 20_000


class Printed(io.TextIOBase):
    """Keeps the last characters of what is printed, and counts the lines."""

    def __init__(self) -> None:
        self.num_lines, self.text = 0, ""

    def write(self, text: str) -> int:
        self.num_lines += text.count("\n")
        self.text = (self.text + text[-MAX_PRINTED:])[-MAX_PRINTED:]
        return len(text)

    def writable(self) -> bool:
        return True


class Call:
    """One call: its arguments, their state before, and its graph."""

    def __init__(self, args: tuple, kwargs: dict, modules: list, known: list[Tensor]) -> None:
        self.args, self.kwargs, self.modules = args, kwargs, modules
        self.known = known
        self.outputs: list[Tensor] = []  # those of the result that have a graph
        self._look()

    def _look(self) -> None:
        self._bytes = [tensor.detach().clone() for tensor in self.known]
        self._grads = [None if t.grad is None else t.grad.clone() for t in map(_leaf, self.known)]
        self._state = mirrored_modules.describe(self.modules, self.known, lambda tensor: 0)

    def changes(self, encoder: Encoder) -> dict:
        """The differences since the last look, for the judge."""
        new: list[Tensor] = []

        def add(tensor: Tensor) -> int:
            new.append(tensor)
            return encoder.add(tensor)

        state = mirrored_modules.describe(self.modules, self.known, add)
        changed = [
            [at, encoder.add(tensor)]
            for at, (tensor, before) in enumerate(zip(self.known, self._bytes, strict=True))
            if not _same(tensor, before)
        ]
        grads = [
            [at, None if tensor.grad is None else encoder.add(tensor.grad)]
            for at, (tensor, before) in enumerate(zip(self.known, self._grads, strict=True))
            if tensor.is_leaf and not _same(tensor.grad, before)
        ]
        answer = {"changed": changed, "grads": grads}
        if new or state != self._state:
            answer["state"] = state
        self.known += new
        self._look()
        return answer


def _leaf(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_leaf else tensor.detach()


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    kinds = [torch.empty(t.shape, dtype=t.dtype).copy_(t.detach()) for t in (one, other)]
    one, other = (t.reshape(-1).view(torch.uint8) if t.numel() else t for t in kinds)
    return torch.equal(one, other)


def without_leaves(args: tuple, numbers: list[int], known: list[Tensor]) -> tuple:
    """The arguments; tensors that are not leaves on the judge's side are not leaves here."""
    inner = {id(known[n]): known[n].clone() for n in numbers}
    return tuple(inner.get(id(value), value) for value in args) if inner else args


@contextlib.contextmanager
def modes_of(modes: dict):
    dtype = getattr(torch, modes["autocast"]) if modes["autocast"] else torch.bfloat16
    with (
        torch.set_grad_enabled(modes["grad"]),
        torch.autocast("cpu", dtype=dtype, enabled=bool(modes["autocast"])),
        warnings.catch_warnings(),
    ):
        # Of a mode that the judge has on, and that the processor here has not.
        warnings.filterwarnings("ignore", message="In CPU autocast")
        yield


def saving(saved: list, is_asked: bool):
    if not is_asked:
        return contextlib.nullcontext()

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tuple(tensor.shape))
        return tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)


def watched(function, args: tuple, kwargs: dict) -> tuple[object, list[str]]:
    """The result, and the names of the operations that ran for it."""
    results = []
    with calls.python_calls() as called:
        names = calls.operations(lambda: results.append(function(*args, **kwargs)))
    return results[0], sorted(names | called)


def error_as_data(error: BaseException) -> dict:
    args = [a for a in error.args if type(a) in (str, int, float, bool, type(None))]
    try:
        text = str(error)[:2000]
    except BaseException:
        text = "an error that cannot show itself"
    line, walk = 0, error.__traceback__
    while walk is not None:
        if "<ipython-input" in walk.tb_frame.f_code.co_filename or "ipykernel" in (
            walk.tb_frame.f_code.co_filename
        ):
            line = walk.tb_lineno
        walk = walk.tb_next
    plain = args if len(args) == len(error.args) else None
    return {"type": type(error).__name__[:100], "text": text, "args": plain, "line": line}


def exception_of(data: dict) -> BaseException:
    kind = getattr(builtins, data["type"], None)
    is_one = isinstance(kind, type) and issubclass(kind, Exception)
    return kind(data["text"]) if is_one else Exception(data["text"])
