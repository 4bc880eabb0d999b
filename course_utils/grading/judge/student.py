"""Inside the box: runs a student's cells and calls her functions when the judge asks.

Holds no right answer and decides nothing; whatever it says is checked on the other side.
"""

import builtins
import contextlib
import gc
import io
import os
import socket
import sys
import tempfile
import warnings
from collections import OrderedDict
from pathlib import Path

import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import Tensor

from course_utils.exercises import calls
from course_utils.fingerprint import fingerprint
from course_utils.grading.box import confine, zygote
from course_utils.grading.judge import mirror
from course_utils.grading.judge.values import Decoder, Encoder
from course_utils.grading.judge.wire import BadMessage, Gone, receive, send
from course_utils.quiet import quiet_libraries

MAX_CALLS, MAX_PRINTED, MAX_SAVED = 8, 20_000, 5_000
FROM_JUDGE = 2**30


class Aborted(BaseException):
    """The judge does not go on with this call."""


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


class _Arguments(Decoder):
    """The judge's values: tensors with their graph's kind, callbacks, modules, folders."""

    def __init__(self, tensors: list[Tensor], worker: "Student", modules: list) -> None:
        super().__init__(tensors)
        self._worker, self._modules = worker, modules
        self.known: list[Tensor] = []  # in the order of the judge
        self.folders: dict[str, Path] = {}
        self._leaves: dict[int, Tensor] = {}

    def special(self, kind: str, data: dict) -> object:
        if kind == "argument":
            return self.known[data["at"]]
        if kind == "tensor":
            return self._tensor_of(data)
        if kind == "module":
            return self._modules[data["at"]]
        if kind == "callback":
            return self._worker.callback(data["id"])
        if kind == "folder":
            return str(self._folder(data))
        return super().special(kind, data)

    def _tensor_of(self, data: dict) -> Tensor:
        value = self.tensor(data["at"]).clone()
        if data["param"]:
            value = torch.nn.Parameter(value, requires_grad=data["grad"])
        elif data["grad"]:
            value.requires_grad_()
        if data["of_grad"] is not None:
            value.grad = self.tensor(data["of_grad"]).clone()
        self.known.append(value)
        return value

    def _folder(self, data: dict) -> Path:
        folder = Path(tempfile.mkdtemp())
        self.folders[data["name"]] = folder
        for name, at in data["files"].items():
            (folder / name).write_bytes(self.tensor(at).numpy().tobytes())
        return folder


class _Results(Encoder):
    """The student's values; functions and modules are kept here and go by number."""

    def __init__(self, worker: "Student", call: "Call | None" = None) -> None:
        super().__init__()
        self._worker, self._call = worker, call
        self.outputs: list[int] = []  # numbers of the tensors that have a graph

    def tensor(self, value: Tensor) -> object:
        if type(value) not in (Tensor, torch.nn.Parameter):
            return super().other(value)
        for at, known in enumerate(self._call.known if self._call else ()):
            if value is known:
                return {"is": "argument", "at": at}
            same = value.numel() and value.data_ptr() == known.data_ptr()
            if same and not value.requires_grad and value.shape == known.shape:
                return {"is": "alias", "at": at}
        at, out = self.add(value), None
        if value.requires_grad and not value.is_leaf and self._call:
            out = self._call.add_output(value)
            self.outputs.append(at)
        return {
            "is": "tensor",
            "at": at,
            "grad": bool(value.requires_grad),
            "out": out,
            "param": isinstance(value, torch.nn.Parameter),
        }

    def other(self, value: object) -> object:
        if isinstance(value, torch.nn.Module):
            for at, module in enumerate(self._call.modules if self._call else ()):
                if value is module:
                    return {"is": "module", "at": at}
            if self._call:
                return self._module(value)
        if callable(value):
            name = str(getattr(value, "__name__", type(value).__name__))[:100]
            return {"is": "function", "id": self._worker.keep(value), "name": name}
        return super().other(value)

    def _module(self, value: torch.nn.Module) -> dict:
        """A module that the student made: its weights travel, its forward stays here."""
        names = {name: weight for name, weight in value.named_parameters()}
        weights = [
            {"name": name, "at": self.add(weight), "grad": weight.requires_grad}
            for name, weight in names.items()
        ]
        number = self._worker.keep(_OfModule(value, list(names.values())))
        return {
            "is": "new module",
            "id": number,
            "type": type(value).__name__,
            "training": value.training,
            "weights": weights,
        }


class _OfModule:
    """A student's module as a function whose further inputs are its weights."""

    def __init__(self, module: torch.nn.Module, weights: list[Tensor]) -> None:
        self.module, self.weights = module, weights

    def __call__(self, *args, **kwargs):
        return self.module(*args, **kwargs)


class Call:
    """One call: what it was given, what it looked like before, and its graph."""

    def __init__(self, args: tuple, kwargs: dict, modules: list, known: list[Tensor]) -> None:
        self.args, self.kwargs, self.modules = args, kwargs, modules
        self.known, self.outputs = known, []
        self._look()

    def add_output(self, value: Tensor) -> int:
        self.outputs.append(value)
        return len(self.outputs) - 1

    def _look(self) -> None:
        self._bytes = [tensor.detach().clone() for tensor in self.known]
        self._grads = [None if t.grad is None else t.grad.clone() for t in map(_leaf, self.known)]
        self._state = mirror.describe(self.modules, self.known, lambda tensor: 0)

    def changes(self, encoder: Encoder) -> dict:
        """What is different from the last look, for the judge."""
        new: list[Tensor] = []

        def add(tensor: Tensor) -> int:
            new.append(tensor)
            return encoder.add(tensor)

        state = mirror.describe(self.modules, self.known, add)
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


class Student:
    """One worker: the notebook's names, the functions and graphs that the judge may ask for."""

    def __init__(self, judge: socket.socket, shell: InteractiveShell) -> None:
        self._judge, self._shell = judge, shell
        self._kept: list[object] = []
        self._calls: OrderedDict[int, Call] = OrderedDict()
        self._num_calls = 0

    def keep(self, value: object) -> int:
        self._kept.append(value)
        return len(self._kept) - 1

    def serve(self) -> None:
        """Answer the judge until it is gone."""
        verbs = {"run": self._run, "answer": self._answer, "call": self._call, "vjp": self._vjp}
        while True:
            request, tensors = receive(self._judge, max_json=FROM_JUDGE, max_tensors=FROM_JUDGE)
            printed = Printed()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                data, encoder = verbs[request["do"]](request, tensors)
            data |= {"printed": printed.text, "lines": printed.num_lines}
            send(self._judge, data, encoder.tensors)

    def _run(self, request: dict, _tensors: list) -> tuple[dict, Encoder]:
        """Run cells; the first error of each that must not fail is reported."""
        for name, value in request.get("names", {}).items():
            self._shell.user_ns[name] = value
        errors = []
        for cell in request["cells"]:
            done = self._shell.run_cell(cell, store_history=False)
            error = done.error_before_exec or done.error_in_exec
            errors.append(None if error is None else _error(error))
        return {"errors": errors}, Encoder()

    def _answer(self, request: dict, _tensors: list) -> tuple[dict, Encoder]:
        encoder, names = _Results(self), self._shell.user_ns
        if request["name"] not in names:
            return {"missing": True}, encoder
        return {"value": encoder.encode(names[request["name"]])}, encoder

    def _call(self, request: dict, tensors: list[Tensor]) -> tuple[dict, Encoder]:
        modules = mirror.unpickled(tensors[request["modules"]]) if "modules" in request else []
        decoder = _Arguments(tensors, self, modules)
        args, kwargs = decoder.decode(request["args"]), decoder.decode(request["kwargs"])
        of_modules = mirror.tensors_of(modules)
        for at, number in request.get("grads", ()):
            of_modules[at].grad = tensors[number].clone()
        function = self._kept[request["function"]]
        own = function.weights if isinstance(function, _OfModule) else []
        call = Call(args, kwargs, modules, [*decoder.known, *of_modules, *own])
        before = self._as_json(call)
        if "rng" in request:
            torch.set_rng_state(tensors[request["rng"]])
        saved: list[tuple[int, ...]] = []
        data: dict = {}
        try:
            with _modes(request["modes"]), _saving(saved, request.get("saved", False)):
                given = _without_leaves(args, request["not_leaves"], decoder.known)
                if request.get("watch"):
                    result, data["operations"] = _watched(function, given, kwargs)
                else:
                    result = function(*given, **kwargs)
            encoder = _Results(self, call)
            data["value"] = encoder.encode(result)
            data["outputs"] = encoder.outputs
        except (Gone, BadMessage):
            raise
        except BaseException as error:
            encoder = _Results(self, call)
            data["error"] = _error(error)
        gc.collect(0)
        data |= call.changes(encoder) | {"saved": saved[:MAX_SAVED]}
        if self._as_json(call) != before:
            after = _Results(self, call)
            after.tensors = encoder.tensors
            data["args"] = after.encode((args, kwargs))
        if "rng" in request and not torch.equal(torch.get_rng_state(), tensors[request["rng"]]):
            data["rng"] = encoder.add(torch.get_rng_state())
        if decoder.folders:
            data["folders"] = _folders(decoder, encoder)
        data["call"] = self._remember(call)
        return data, encoder

    def _remember(self, call: Call) -> int:
        if call.outputs:
            self._calls[self._num_calls] = call
            while len(self._calls) > MAX_CALLS:
                self._calls.popitem(last=False)
        self._num_calls += 1
        return self._num_calls - 1

    def _as_json(self, call: Call) -> object:
        """The arguments' containers, with tensors by their place."""
        fake = Call.__new__(Call)
        fake.known, fake.modules, fake.outputs = call.known, call.modules, []
        fake.add_output = lambda value: None
        return _Results(self, fake).encode((call.args, call.kwargs))

    def _vjp(self, request: dict, tensors: list[Tensor]) -> tuple[dict, Encoder]:
        encoder = Encoder()
        call = self._calls[request["call"]]
        leaves = [t for t in call.known if t.is_leaf]
        before = [t.grad for t in leaves]
        for leaf in leaves:
            leaf.grad = None
        pairs = zip(call.outputs, request["grads"], strict=True)
        asked = [(out, tensors[n]) for out, n in pairs if n is not None]
        try:
            torch.autograd.backward(*map(list, zip(*asked, strict=True)), retain_graph=True)
            grads = [t.grad if t.is_leaf else None for t in call.known]
            data = {"grads_of": [None if g is None else encoder.add(g) for g in grads]}
        except (Gone, BadMessage):
            raise
        except BaseException as error:
            data = {"error": _error(error)}
        for leaf, grad in zip(leaves, before, strict=True):
            leaf.grad = grad
        return data | call.changes(encoder), encoder

    def callback(self, number: int):
        def ask(*args):
            encoder = _Results(self)
            send(self._judge, {"callback": number, "args": encoder.encode(args)}, encoder.tensors)
            reply, tensors = receive(self._judge)
            if "abort" in reply:
                raise Aborted
            if "error" in reply:
                raise _exception(reply["error"])
            return Decoder(tensors).decode(reply["value"])

        return ask


def _without_leaves(args: tuple, numbers: list[int], known: list[Tensor]) -> tuple:
    """The arguments, in which what is no leaf at the judge's is none here."""
    inner = {id(known[n]): known[n].clone() for n in numbers}
    return tuple(inner.get(id(value), value) for value in args) if inner else args


def _folders(decoder: _Arguments, encoder: Encoder) -> dict:
    return {
        name: {
            path.name: encoder.add(_bytes(path.read_bytes()))
            for path in sorted(folder.iterdir())
            if path.is_file()
        }
        for name, folder in decoder.folders.items()
    }


def _bytes(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)]


@contextlib.contextmanager
def _modes(modes: dict):
    dtype = getattr(torch, modes["autocast"]) if modes["autocast"] else torch.bfloat16
    with (
        torch.set_grad_enabled(modes["grad"]),
        torch.autocast("cpu", dtype=dtype, enabled=bool(modes["autocast"])),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _saving(saved: list, is_asked: bool):
    if not is_asked:
        return contextlib.nullcontext()

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tuple(tensor.shape))
        return tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)


def _watched(function, args: tuple, kwargs: dict) -> tuple[object, list[str]]:
    """The result, and the names of what was run for it."""
    results = []
    with calls.python_calls() as called:
        names = calls.operations(lambda: results.append(function(*args, **kwargs)))
    return results[0], sorted(names | called)


def _error(error: BaseException) -> dict:
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


def _exception(data: dict) -> BaseException:
    kind = getattr(builtins, data["type"], None)
    is_one = isinstance(kind, type) and issubclass(kind, Exception)
    return kind(data["text"]) if is_one else Exception(data["text"])


def make_shell() -> InteractiveShell:
    """A notebook's shell without history, colours or files."""
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    shell = InteractiveShell.instance(config=config)
    shell.display_formatter.active_types = ["text/plain"]
    return shell


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    has_walls = sys.argv[2] == "1"
    os.environ["IPYTHONDIR"] = tempfile.mkdtemp()
    os.environ["COURSE_READS"] = sys.argv[3]
    quiet_libraries()
    shell = make_shell()
    warm_up()
    gc.collect()
    gc.freeze()

    def child(request: dict, sockets: list[socket.socket]) -> None:
        [judge] = sockets
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.closerange(3, judge.fileno())
        os.closerange(judge.fileno() + 1, 1024)
        confine.remember_use()
        confine.confine(confine.Bounds(), walls=has_walls)
        with contextlib.suppress(Gone):
            Student(judge, shell).serve()

    import signal

    zygote.serve(control, child, end=signal.SIGTERM if has_walls else signal.SIGKILL)


def warm_up() -> None:
    """What nearly every answer needs once: a graph, an autocast, a fingerprint."""
    leaf = torch.ones(2, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (leaf * 2).sum().backward()
    fingerprint(leaf, "a tensor")


if __name__ == "__main__":
    main()
