"""Inside the box: runs a student's cells and calls her functions when the judge asks.

Holds no right answer and decides nothing; whatever it says is checked on the other side.
"""

import contextlib
import gc
import importlib
import os
import socket
import sys
import tempfile
from collections import OrderedDict

import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import Tensor

from course_utils.box import confine, zygote
from course_utils.checks import calls
from course_utils.checks.input_fingerprint import fingerprint
from course_utils.grading.judge import mirrored_modules
from course_utils.grading.judge.recorded_call import (
    Call,
    Printed,
    error_as_data,
    exception_of,
    modes_of,
    saving,
    watched,
    without_leaves,
)
from course_utils.grading.judge.values import Decoder, Encoder
from course_utils.grading.judge.values_in import Arguments, OfModule, Results, folders
from course_utils.grading.judge.wire import BadMessage, Gone, receive, send
from course_utils.shown.quiet import quiet_libraries

MAX_CALLS, MAX_SAVED = 8, 5_000
FROM_JUDGE = 2**30
# Magics about how a notebook looks and loads; here is no page, and nothing is loaded twice.
FRONT_END = ("matplotlib", "gui", "config", "load_ext", "reload_ext", "autoreload")


class Aborted(BaseException):
    """The judge has given up this call."""


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
        verbs = {
            "hand_over": self._hand_over,
            "run": self._run,
            "answer": self._answer,
            "call": self._call,
            "vjp": self._vjp,
        }
        while True:
            request, tensors = receive(self._judge, max_json=FROM_JUDGE, max_tensors=FROM_JUDGE)
            printed = Printed()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                data, encoder = verbs[request["do"]](request, tensors)
            data |= {"printed": printed.text, "lines": printed.num_lines}
            send(self._judge, data, encoder.tensors)

    def _hand_over(self, request: dict, tensors: list) -> tuple[dict, Encoder]:
        """Store what `draw` gives; `course_utils.lesson.handle` is `lesson_in_box` here."""
        lesson = importlib.import_module("course_utils.lesson.handle")
        lesson.CASES[request["name"]] = case = mirrored_modules.unpickled(tensors[0])
        if request["is_job"]:
            job_requests = importlib.import_module("course_utils.grading.judge.job_requests")
            job_requests.install(case, self.callback(0))
        return {}, Encoder()

    def _run(self, request: dict, _tensors: list) -> tuple[dict, Encoder]:
        """Run cells; the first error of each that must not fail is reported."""
        for name, value in request.get("names", {}).items():
            self._shell.user_ns[name] = value
        errors = []
        for cell in request["cells"]:
            done = self._shell.run_cell(cell, store_history=False)
            error = done.error_before_exec or done.error_in_exec
            errors.append(None if error is None else error_as_data(error))
        return {"errors": errors}, Encoder()

    def _answer(self, request: dict, _tensors: list) -> tuple[dict, Encoder]:
        encoder, names = Results(self), self._shell.user_ns
        if request["name"] not in names:
            return {"missing": True}, encoder
        return {"value": encoder.encode(names[request["name"]])}, encoder

    def _call(self, request: dict, tensors: list[Tensor]) -> tuple[dict, Encoder]:
        modules = (
            mirrored_modules.unpickled(tensors[request["modules"]]) if "modules" in request else []
        )
        decoder = Arguments(tensors, self, modules)
        args, kwargs = decoder.decode(request["args"]), decoder.decode(request["kwargs"])
        of_modules = mirrored_modules.tensors_of(modules)
        for at, number in request.get("grads", ()):
            of_modules[at].grad = tensors[number].clone()
        function = self._kept[request["function"]]
        own = function.weights if isinstance(function, OfModule) else []
        call = Call(args, kwargs, modules, [*decoder.known, *of_modules, *own])
        before = self._as_json(call)
        if "rng" in request:
            torch.set_rng_state(tensors[request["rng"]])
        saved: list[tuple[int, ...]] = []
        data: dict = {}
        try:
            with modes_of(request["modes"]), saving(saved, request.get("saved", False)):
                given = without_leaves(args, request["not_leaves"], decoder.known)
                if request.get("watch"):
                    result, data["operations"] = watched(function, given, kwargs)
                else:
                    result = function(*given, **kwargs)
                data["grad"] = torch.is_grad_enabled()
            encoder = Results(self, call.known, call.modules)
            data["value"] = encoder.encode(result)
            data["outputs"], call.outputs = encoder.numbers, encoder.outputs
        except (Gone, BadMessage):
            raise
        except BaseException as error:
            encoder = Results(self, call.known, call.modules)
            data["error"] = error_as_data(error)
        gc.collect(0)
        data |= call.changes(encoder) | {"saved": saved[:MAX_SAVED]}
        if self._as_json(call) != before:
            after = Results(self, call.known, call.modules)
            after.tensors = encoder.tensors
            data["args"] = after.encode((args, kwargs))
        if "rng" in request and not torch.equal(torch.get_rng_state(), tensors[request["rng"]]):
            data["rng"] = encoder.add(torch.get_rng_state())
        if decoder.folders:
            data["folders"] = folders(decoder, encoder)
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
        encoder = Results(self, call.known, call.modules)
        return encoder.encode((call.args, call.kwargs))

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
            data = {"error": error_as_data(error)}
        for leaf, grad in zip(leaves, before, strict=True):
            leaf.grad = grad
        return data | call.changes(encoder), encoder

    def callback(self, number: int):
        def ask(*args):
            encoder = Results(self)
            send(self._judge, {"callback": number, "args": encoder.encode(args)}, encoder.tensors)
            reply, tensors = receive(self._judge)
            if "abort" in reply:
                raise Aborted
            if "error" in reply:
                raise exception_of(reply["error"])
            return Decoder(tensors).decode(reply["value"])

        return ask


def make_shell() -> InteractiveShell:
    """A notebook's shell without history, colours or files."""
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    shell.display_formatter.active_types = ["text/plain"]
    shell.magics_manager.magics["line"].update(dict.fromkeys(FRONT_END, _nothing))
    return shell


def _nothing(_line: str) -> None:
    """Replaces a magic for the notebook's page."""


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
    calls.operations(torch.exp, leaf)  # the first one imports 800 modules


if __name__ == "__main__":
    main()
