"""Watches a run at next to no cost, and replays the step that fails under full tracing.

Each forward pass is recorded: a reference to its batch, the random number states, a copy of the
buffers, the autocast state, the loss, and the gradient that backward() starts from. Just before
the optimizer steps, the losses and all gradient norms are read in one go, together with the
norms of the weights after the step before. That is the one time a step waits for the device;
the weights are still those of the step, so a bad one can be run again exactly.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.optim import optimizer as optimizers

from course_utils.diagnostics.nonfinite.events import Blame
from course_utils.diagnostics.nonfinite.modules import ModuleNames
from course_utils.diagnostics.nonfinite.optimizer_fault import Stepped
from course_utils.diagnostics.nonfinite.places import find_places
from course_utils.diagnostics.nonfinite.replay import Pass, replay
from course_utils.diagnostics.nonfinite.report import NonFiniteReport, make_report
from course_utils.diagnostics.nonfinite.state import Surroundings
from course_utils.diagnostics.nonfinite.targets import Target, loss_in, open_target
from course_utils.diagnostics.nonfinite.values import all_finite, measure


def watch(
    target: Any,
    loss_of: Callable[..., Any] | None = None,
    *,
    scaler: Any = None,
    then: Callable[[NonFiniteReport], object] = print,
) -> "Watch":
    """Watch a run; at the first step that is not finite, name the operation that is to blame.

    Args:
        target: a Trainer, or the model that a loop of your own trains.
        loss_of: for a loop of your own: the function that gives the loss. Call the watch in its
            place. Default: the loss that `model(**batch)` returns.
        scaler: the gradient scaler of such a loop, if it has one. A Trainer's is found.
        then: is called once, with the report of the first fault. The run goes on unwatched.

    Raises:
        Unsupported: more than one process.

    Numerics:
        A scaled gradient that overflows is the scaler's business and no fault, unless the
        unscaled gradient is not finite either.

    >>> model = torch.nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> with watch(model, lambda x: model(x).log().sum(), then=lambda report: None) as watched:
    ...     watched(torch.tensor([[float("nan")]])).backward()
    ...     optimizer.step()
    >>> watched.report.phase
    'already in the input'
    """
    opened = open_target(target, loss_of)
    if opened.trainer is not None:
        scaler = opened.trainer.accelerator.scaler
    return Watch(opened, scaler, then)


class Watch:
    """What `watch` gives. Call it with a batch to compute the loss and record the pass."""

    def __init__(self, target: Target, scaler: Any, then: Callable[[NonFiniteReport], object]):
        self.num_steps = 0  # optimizer steps begun
        self._target, self._scaler, self._then = target, scaler, then
        self._modules = target.modules
        self._found: NonFiniteReport | None = None
        self._passes: list[Pass] = []
        self._names: dict[int, dict[Tensor, str]] = {}  # id of the optimizer -> its parameters
        self._gradient_norms: dict[Tensor, float] = {}
        self._stepped: list[tuple[int, Stepped, Tensor]] = []  # step, and the weights' norms

    @property
    def report(self) -> NonFiniteReport:
        """The first fault; a report with `found` False as long as there is none."""
        if self._found is not None:
            return self._found
        note = f"{self.num_steps} steps watched: every loss, gradient and weight was finite."
        return NonFiniteReport(found=False, note=note)

    def __call__(self, *args, **kwargs) -> Any:
        """Compute the loss as the watched function does, and record what a replay needs."""
        if self._found is not None or not torch.is_grad_enabled():
            return self._target.loss_of(*args, **kwargs)
        one = Pass(args, kwargs, Surroundings.now(self._modules))
        output = self._target.loss_of(*args, **kwargs)
        loss = loss_in(output)
        if loss is not None and loss.requires_grad:
            one.loss = loss.detach()
            loss.register_hook(lambda seed: setattr(one, "seed", seed))
            self._passes.append(one)
        return output

    def _before_step(self, optimizer: torch.optim.Optimizer, *_args) -> None:
        if self._found is not None or not self._passes:
            return  # the optimizer's own hook after that of a gradient scaler, or another's
        parameters = self._parameters_of(optimizer)
        if parameters:
            self.num_steps += 1
            self._read(parameters)

    def _after_step(self, optimizer: torch.optim.Optimizer, *_args) -> None:
        weights = [p for p in self._parameters_of(optimizer) if p in self._gradient_norms]
        if self._found is not None or not weights:
            return
        names = [self._parameters_of(optimizer)[weight] for weight in weights]
        norms = [self._gradient_norms[weight] for weight in weights]
        stepped = Stepped(optimizer, names, weights, norms, find_places())
        self._stepped.append((self._step, stepped, measure(weights)))
        self._gradient_norms = {}

    @property
    def _step(self) -> int:
        trainer = self._target.trainer
        return self.num_steps if trainer is None else trainer.state.global_step + 1

    def _parameters_of(self, optimizer: torch.optim.Optimizer) -> dict[Tensor, str]:
        """The optimizer's parameters by name; none if it does not train the watched model."""
        if id(optimizer) not in self._names:
            known = ModuleNames(self._target.roots).trainable_parameters()
            own = [p for group in optimizer.param_groups for p in group["params"]]
            is_ours = not known or any(p in known for p in own)
            names = {p: f"parameter {i} of the optimizer" for i, p in enumerate(own)} | known
            self._names[id(optimizer)] = names if is_ours else {}
        return self._names[id(optimizer)]

    def _read(self, parameters: dict[Tensor, str]) -> None:
        """Look at the losses, the gradients and the last step's weights, in one transfer."""
        with_gradient = [p for p in parameters if p.grad is not None]
        losses = [one.loss for one in self._passes]
        gradients = [p.grad for p in with_gradient]
        now = measure([*losses, *gradients])
        parts = [now, *(norms.to(now.device) for _, _, norms in self._stepped)]
        numbers = torch.cat(parts).tolist()
        weights_from = len(now)
        if not all(map(math.isfinite, numbers[weights_from:])):
            self._blame_optimizer()
        suspected = self._found is None and not all(map(math.isfinite, numbers[:weights_from]))
        if suspected and not all(map(all_finite, [*losses, *gradients])):  # or the norm overflowed
            self._replay(parameters)
        self._gradient_norms = dict(
            zip(with_gradient, numbers[len(losses) : weights_from], strict=True)
        )
        self._stepped, self._passes = [], []

    def _blame_optimizer(self) -> None:
        for step, stepped, _ in self._stepped:
            fault = stepped.find_fault()
            if fault is not None:
                blame, reached = Blame(origin=fault), f"the weights {fault.module}"
                self._end(make_report(blame, step=step, reached=reached))
                return

    def _replay(self, parameters: dict[Tensor, str]) -> None:
        scale = 1.0
        if self._scaler is not None and all(all_finite(one.loss) for one in self._passes):
            scale = self._scaler.get_scale()  # its overflows are routine: see what is left without
        report = replay(self._target, self._passes, parameters, divide_by=scale)
        if report is not None:
            self._end(replace(report, step=self._step))

    def _end(self, report: NonFiniteReport) -> None:
        self._found = report
        self._then(report)

    def __enter__(self) -> "Watch":
        self._undo = ExitStack()
        before = optimizers.register_optimizer_step_pre_hook(self._before_step)
        after = optimizers.register_optimizer_step_post_hook(self._after_step)
        self._undo.callback(before.remove)
        self._undo.callback(after.remove)
        if self._target.trainer is not None:
            self._undo.enter_context(_replaced(self._target.trainer, "compute_loss", self))
        if self._scaler is not None:
            # On an inf the scaler skips the optimizer, and with it the optimizer's hooks.
            step = _before(self._scaler.step, self._before_step)
            self._undo.enter_context(_replaced(self._scaler, "step", step))
        return self

    def __exit__(self, *_exc) -> None:
        self._undo.close()
        if self._found is None and (self._passes or self._stepped):
            self.num_steps += bool(self._passes)
            self._read(ModuleNames(self._target.roots).trainable_parameters())


def _before(function: Callable, first: Callable) -> Callable:
    def both(*args, **kwargs):
        first(*args)
        return function(*args, **kwargs)

    return both


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Inside, this one object has another method."""
    had, previous = name in vars(owner), getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if had:
            setattr(owner, name, previous)
        else:
            delattr(owner, name)
