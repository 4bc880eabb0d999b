"""The judge's proxy for a student's function: called here, executed in the worker.

Criteria stay as they are: values, gradients and changed arguments come back over the wire. What
comes back is checked; none of the student's code runs here.
"""

import contextlib
import pickle
import socket
from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode_stack

from course_utils.checks.containment import AnswerEnded
from course_utils.grading.judge import mirrored_modules
from course_utils.grading.judge.replayed_changes import (
    SharedObjects,
    apply_surroundings,
    checked_error,
    exception_of,
    list_of,
    refill,
    shape_of,
    tensor_at,
)
from course_utils.grading.judge.values import Decoder, Encoder, int_of
from course_utils.grading.judge.values_out import Results, SentArguments
from course_utils.grading.judge.wire import BadMessage, Gone, receive, send

MAX_CALLBACKS = 20_000
ENDED = "your code ended its process, or needed more memory or time than there is"


class Remote(torch.autograd.Function):
    """One call in the judge's graph; its backward pass asks the worker."""

    @staticmethod
    def forward(ctx, vjp, shapes, outputs, *inputs):
        ctx.set_materialize_grads(False)
        ctx.vjp = vjp
        ctx.save_for_backward(*(torch.empty(()).expand(shape) for shape in shapes))
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):
        return (None, None, None, *ctx.vjp(grads))


class Worker:
    """The student's process, as the judge talks to it.

    Args:
        student: the socket that leads to it.
    """

    def __init__(self, student: socket.socket, identifiers: frozenset[str] = frozenset()) -> None:
        self._student = student
        self.identifiers = identifiers  # what the answer's own source names
        self._jobs: list[Callable] = []  # what cells may ask

    def run(self, cells: list[str]) -> list[dict | None]:
        """Run cells one after the other; the error of each, or None."""
        data, _ = self._ask({"do": "run", "cells": cells}, callbacks=self._jobs)
        errors = data.get("errors")
        if type(errors) is not list or len(errors) != len(cells):
            raise BadMessage("no errors")
        return [None if error is None else checked_error(error) for error in errors]

    def hand_over(self, name: str, case: object, jobs: Callable | None = None) -> None:
        """Send what `ex.NAME.draw()` gives the reader; nothing if it cannot be sent.

        Args:
            jobs: answers how the case ends as a job, in place of a process of the box's own.
        """
        self._jobs = [jobs] if jobs else []
        request = {"do": "hand_over", "name": name, "is_job": bool(jobs)}
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
            self._ask(request, [mirrored_modules.as_tensor(pickle.dumps(case))])

    def answer(self, name: str) -> tuple[bool, object]:
        """Whether the notebook has the name, and its value."""
        data, tensors = self._ask({"do": "answer", "name": name})
        if data.get("missing") is True:
            return False, None
        return True, Results(tensors, self, [], [], ()).decode(data.get("value"))

    def function(self, number: int, name: str) -> Callable:
        """A function that calls the student's."""

        def remote(*args, **kwargs):
            watching = _watching()
            if not watching:
                return self._call(number, args, kwargs, remote.weights, watching)
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                return self._call(number, args, kwargs, remote.weights, watching)

        remote.weights = []
        remote.__name__ = remote.__qualname__ = name
        return remote

    def _call(
        self, number: int, args: tuple, kwargs: dict, weights: list[Tensor], watching: list
    ) -> object:
        sent = SentArguments()
        request = {
            "do": "call",
            "function": number,
            "args": sent.encode(args),
            "kwargs": sent.encode(kwargs),
            "modes": _modes(),
            "watch": bool(watching),
        }
        request["not_leaves"] = [
            n for n, tensor in enumerate(sent.known) if tensor.requires_grad and not tensor.is_leaf
        ]
        of_modules = mirrored_modules.tensors_of(sent.modules)
        if sent.modules:
            request["modules"] = sent.add(mirrored_modules.pickled(sent.modules))
            request["saved"] = True
            request["grads"] = [
                [n, sent.add(tensor.grad)]
                for n, tensor in enumerate(of_modules)
                if tensor.is_leaf and tensor.grad is not None
            ]
        request["rng"] = sent.add(torch.get_rng_state())
        data, tensors = self._ask(request, sent.tensors, sent.callbacks)
        known = SharedObjects([*sent.known, *of_modules, *weights], sent.modules)
        known.apply(data, tensors)
        apply_surroundings(data, tensors, sent.folders)
        for mode in watching:
            mode.names.update(self.identifiers, map(str, list_of(data, "operations")))
        if "error" in data:
            raise exception_of(checked_error(data["error"]))
        graph = self._graph(data, tensors, known)
        results = Results(tensors, self, known.tensors, sent.modules, graph)
        if "args" in data:
            refill((args, kwargs), results.decode(data["args"]))
        return results.decode(data.get("value"))

    def _graph(self, data: dict, tensors: list[Tensor], known: SharedObjects) -> tuple[Tensor, ...]:
        """The results that have a graph, in the judge's own."""
        numbers = list_of(data, "outputs")
        if not numbers:
            return ()
        values = [tensor_at(tensors, number) for number in numbers]
        shapes = [shape_of(one) for one in list_of(data, "saved")]
        inputs = [n for n, tensor in enumerate(known.tensors) if tensor.requires_grad]
        call = int_of(data, "call", 10**9)

        def vjp(grads: tuple) -> list[Tensor | None]:
            given = [grad for grad in grads if grad is not None]
            at = iter(range(len(given)))
            asked = [None if grad is None else next(at) for grad in grads]
            request = {"do": "vjp", "call": call, "grads": asked}
            data, tensors = self._ask(request, given)
            known.apply(data, tensors)
            if "error" in data:
                raise exception_of(checked_error(data["error"]))
            told = list_of(data, "grads_of")
            if len(told) < len(known.tensors):
                raise BadMessage("too few gradients")
            return [None, *(known.gradient(n, told[n], tensors) for n in inputs)]

        anchor = torch.zeros((), requires_grad=True)  # where no leaf of the judge's leads there
        with torch.enable_grad():
            inputs_given = (known.tensors[n] for n in inputs)
            return Remote.apply(vjp, shapes, values, anchor, *inputs_given)

    def _ask(self, request: dict, tensors: list = (), callbacks: list = ()) -> tuple[dict, list]:
        """Send a request; answer the worker's own questions until the reply comes.

        Raises:
            AnswerEnded: the worker is gone.
            BaseException: an error of a callback that is not the student's.
        """
        stop, num_asked = None, 0
        try:
            send(self._student, request, tensors)
            while True:
                data, got = receive(self._student)
                if "callback" not in data:
                    break
                num_asked += 1
                if num_asked > MAX_CALLBACKS:
                    raise BadMessage("too many questions")
                answer, stop = self._call_back(data, got, callbacks, stop)
                send(self._student, answer)
        except Gone:
            raise AnswerEnded(ENDED) from None
        if stop is not None:
            raise stop
        printed = data.get("printed")
        if type(printed) is str and printed:
            print(printed.encode("utf-8", "replace").decode(), end="")
        return data, got

    def _call_back(self, data: dict, tensors: list, callbacks: list, stop) -> tuple[dict, object]:
        function = callbacks[int_of(data, "callback", len(callbacks))]
        args = Decoder(tensors).decode(data.get("args"))
        if stop is not None or type(args) is not tuple:
            return {"abort": True}, stop
        try:
            return {"value": Encoder().encode(function(*args))}, None
        except Exception as error:
            return {"error": {"type": type(error).__name__, "text": str(error)}}, None
        except BaseException as error:
            return {"abort": True}, error


def _modes() -> dict:
    dtype = str(torch.get_autocast_dtype("cpu")).removeprefix("torch.")
    autocast = dtype if torch.is_autocast_enabled("cpu") else None
    return {"grad": torch.is_grad_enabled(), "autocast": autocast}


def _watching() -> list:
    """The modes that collect the names of what a function runs."""
    modes = (*_get_current_function_mode_stack(), *_get_current_dispatch_mode_stack())
    return [mode for mode in modes if isinstance(getattr(mode, "names", None), set)]
