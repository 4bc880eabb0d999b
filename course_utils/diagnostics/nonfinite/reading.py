"""Reads losses, gradients and weights of a step in one transfer, and judges them.

Told by the watch when a step begins and ends; what is bad is handed on to a replay.
"""

import math
from dataclasses import replace
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from course_utils.diagnostics.libraries.pytorch import has_accumulation_hooks
from course_utils.diagnostics.nonfinite.case import Case, Cause
from course_utils.diagnostics.nonfinite.clipping import Clipping
from course_utils.diagnostics.nonfinite.coverage import NO_LOSS, Coverage
from course_utils.diagnostics.nonfinite.events import Blame, Event
from course_utils.diagnostics.nonfinite.explain import position_of
from course_utils.diagnostics.nonfinite.history import History
from course_utils.diagnostics.nonfinite.modules import ModuleNames
from course_utils.diagnostics.nonfinite.optimizer_fault import TakenStep
from course_utils.diagnostics.nonfinite.places import Places, find_places
from course_utils.diagnostics.nonfinite.replay import CHANGED, Pass, is_bad, replay, undisturbed
from course_utils.diagnostics.nonfinite.report import NonFiniteReport, make_report
from course_utils.diagnostics.nonfinite.scaling import Scaling
from course_utils.diagnostics.nonfinite.targets import Target
from course_utils.diagnostics.nonfinite.values import all_finite, is_readable, look, measure, plain


class Reader:
    """The numbers of a run so far; it holds norms, and no batch."""

    def __init__(self, target: Target, scaling: Scaling, seen: Coverage):
        self.clipping = Clipping()
        self.max_length = target.max_length
        self._target, self._scaling, self._seen = target, scaling, seen
        self._history = History()
        self._names: WeakKeyDictionary = WeakKeyDictionary()  # optimizer -> its parameters
        self._norms_on_entry: dict[Tensor, float] = {}
        self._broken: dict[Tensor, str] = {}  # weights that were not finite on entry, by name
        self._gradient_norms: dict[Tensor, float] = {}
        self._stepped: list[tuple[int, TakenStep, Tensor]] = []  # step, and the weights' norms

    def enter(self) -> None:
        """Look at every weight once, before the run changes any."""
        named = ModuleNames(self._target.roots).named_parameters()
        named = {p: name for p, name in named.items() if is_readable(p)}
        norms = measure(list(named)).tolist()
        self._norms_on_entry = dict(zip(named, norms, strict=True))
        suspects = [p for p, norm in self._norms_on_entry.items() if not math.isfinite(norm)]
        self._broken = {p: named[p] for p in suspects if not all_finite(p)}

    def parameters_of(self, optimizer: torch.optim.Optimizer) -> dict[Tensor, str]:
        """The optimizer's parameters by name; empty if it does not train the watched model."""
        if optimizer not in self._names:
            known = self.trainable()
            own = [p for group in optimizer.param_groups for p in group["params"]]
            is_ours = not known or any(p in known for p in own)
            names = {p: f"parameter {i} of the optimizer" for i, p in enumerate(own)} | known
            self._names[optimizer] = names if is_ours else {}
        return self._names[optimizer]

    @property
    def has_unread(self) -> bool:
        """Whether the weights of the last step still have to be judged."""
        return bool(self._stepped)

    def trainable(self) -> dict[Tensor, str]:
        return ModuleNames(self._target.roots).trainable_parameters()

    def after_step(self, optimizer: torch.optim.Optimizer, step: int) -> None:
        """Measure the weights that the step changed; the numbers are read with the next step."""
        weights = [p for p in self.parameters_of(optimizer) if p in self._gradient_norms]
        if not weights:
            return
        names = [self.parameters_of(optimizer)[weight] for weight in weights]
        norms = [self._gradient_norms[weight] for weight in weights]
        stepped = TakenStep(optimizer, names, weights, norms, find_places())
        self._stepped.append((step, stepped, measure(weights)))
        self._gradient_norms = {}

    def read(
        self, parameters: dict[Tensor, str], passes: list[Pass], step: int
    ) -> NonFiniteReport | None:
        """Look at the losses, the gradients and the last step's weights, in one transfer."""
        with_gradient = [p for p in parameters if p.grad is not None]
        losses, gradients = [one.loss for one in passes], [p.grad for p in with_gradient]
        stepped, self._stepped = self._stepped, []
        now = measure([*losses, *gradients])
        after = [norms.to(now.device) for _, _, norms in stepped]
        clipped = self.clipping.norms(now.device)
        numbers = torch.cat([now, clipped, *after]).tolist()
        of_both, of_clips = numbers[: len(now)], numbers[len(now) :][: len(clipped)]
        of_weights = numbers[len(now) + len(clipped) :]
        self._seen.num_gradients += len(gradients)
        self._remember(of_both[: len(losses)], of_weights, stepped)
        self._gradient_norms = dict(zip(with_gradient, of_both[len(losses) :], strict=True))
        report = None
        if not all(map(math.isfinite, of_weights)):
            report = self._blame_optimizer(stepped)
        is_suspect = report is None and not all(map(math.isfinite, of_both))
        if is_suspect and not all(map(all_finite, [*losses, *gradients])):  # or the norm overflowed
            report = self._diagnose(parameters, passes, step)
        else:
            self._scaling.is_calm()
            is_zero = bool(gradients) and not any(of_both[len(losses) :])
            self._seen.num_zeroed += is_zero and not all(map(math.isfinite, of_clips))
        self.clipping.calls.clear()
        return report or self._blame_checkpoint(step)

    def _remember(self, losses: list[float], weights: list[float], stepped: list) -> None:
        self._history.add_loss(losses)
        for _, one, norms in stepped:
            before = math.hypot(*(self._norms_on_entry.get(w, 0.0) for w in one.weights))
            after = math.hypot(*weights[: len(norms)])
            weights = weights[len(norms) :]
            self._history.add_weights(before, after, one.learning_rate)

    @property
    def around(self) -> Case:
        """The facts about the run that help to find the cause of a fault."""
        held = {name: _describe(p) for p, name in self._broken.items()}
        growth = self._history.growth()
        return Case(growth=growth, broken_on_entry=held, max_length=self.max_length)

    def _blame_optimizer(self, stepped: list) -> NonFiniteReport | None:
        for step, one, _ in stepped:
            fault = one.find_fault(besides=self._broken)
            if fault is not None:
                reached = f"the weights {fault.module}"
                return make_report(Blame(fault), around=self.around, step=step, reached=reached)
        return None

    def _blame_checkpoint(self, step: int) -> NonFiniteReport | None:
        """A weight that was broken on entry and has reached no loss so far."""
        if not self._broken:
            return None
        weight, name = next(iter(self._broken.items()))
        blame = Blame(_already_there(weight, name))
        reached = "no loss or gradient so far"
        return make_report(blame, around=self.around, step=step, reached=reached)

    def _diagnose(
        self, parameters: dict[Tensor, str], passes: list[Pass], step: int
    ) -> NonFiniteReport | None:
        """The report of a step that is not finite; None for a scaler's routine overflow."""
        try:
            report = self._name(parameters, passes)
        except Exception as error:
            report = _not_replayed(f"raised {type(error).__name__}: {error}", parameters, passes)
        return replace(report, step=step) if report is not None else None

    def _name(self, parameters: dict[Tensor, str], passes: list[Pass]) -> NonFiniteReport | None:
        if not passes:
            return _unrecorded(parameters)
        if any(map(has_accumulation_hooks, parameters)):
            what = "was not tried: hooks that run when a gradient is complete would run twice"
            return _not_replayed(what, parameters, passes)
        scale = 1.0
        with torch.enable_grad(), undisturbed(self._target, parameters):
            if self._scaling.scaler is not None and all(all_finite(one.loss) for one in passes):
                scale = self._scaling.factor
                is_fault = self._scaling.is_suspicious() and any(
                    is_bad(self._target, one, parameters, scale=scale) for one in passes
                )
                if not is_fault:
                    self._seen.num_overflows += 1
                    return None
            report = replay(self._target, passes, parameters, self.around, divide_by=scale)
        return report or self._changed(parameters, passes)

    def _changed(self, parameters: dict[Tensor, str], passes: list[Pass]) -> NonFiniteReport:
        note = f"{_what_is_bad(parameters, passes)}. Replayed, the step has finite gradients."
        verdict = self.clipping.why_bad()
        return NonFiniteReport(found=True, note=note, batch=passes[-1].batch, verdict=verdict)


def _what_is_bad(parameters: dict[Tensor, str], passes: list[Pass]) -> str:
    for number, one in enumerate(passes, start=1):
        if not all_finite(one.loss):
            return f"The loss of micro-batch {number} is {one.loss.item()}"
    bad = [name for p, name in parameters.items() if p.grad is not None and not all_finite(p.grad)]
    more = f" and of {len(bad) - 1} more" if len(bad) > 1 else ""
    return f"The gradient of {bad[0]}{more} is not finite, the loss is"


def _not_replayed(why: str, parameters: dict[Tensor, str], passes: list[Pass]) -> NonFiniteReport:
    note = f"{_what_is_bad(parameters, passes)}. The replay that names the operation {why}."
    bad = [one for one in passes if not all_finite(one.loss)]
    one = (bad or passes)[0]
    verdict = replace(CHANGED, kind="not replayed", why=f"not known: the replay {why}")
    return NonFiniteReport(found=True, note=note, batch=one.batch, verdict=verdict)


def _unrecorded(parameters: dict[Tensor, str]) -> NonFiniteReport:
    note = f"{_what_is_bad(parameters, [])} not known: no forward pass was recorded."
    verdict = Cause("gradient not finite", "not known: the watch saw no loss", NO_LOSS[1])
    return NonFiniteReport(found=True, note=note, verdict=verdict)


def _already_there(weight: Tensor, name: str) -> Event:
    return Event(
        index=0,
        operation="",
        phase="already in the weights",
        module=name,
        node="",
        dtype=weight.dtype,
        out=look(weight),
        largest_input=look(weight).largest,
        only_neg_inf=False,
        is_fresh=True,
        is_written=False,
        places=Places(),
        sentence="",
        shape=tuple(weight.shape),
        **position_of(~plain(weight).isfinite()),
    )


def _describe(weight: Tensor) -> str:
    values, rows = look(weight), position_of(~plain(weight).isfinite())["rows"]
    held = f"{values.num_nan} nan and {values.num_inf + values.num_neg_inf} inf of {values.numel}"
    return f"{held}, in row {', '.join(map(str, rows))}" if rows else held
