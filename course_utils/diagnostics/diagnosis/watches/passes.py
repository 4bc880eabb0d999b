"""Watches a loop's passes: whether gradients are cleared, in which mode, and on which batch."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.what_labels_say import (
    by_words,
    judge_what_was_learnt,
)
from course_utils.diagnostics.diagnosis.measures.first_rows import losses_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, Subject
from course_utils.diagnostics.diagnosis.watches.pace import Pace
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.libraries.pytorch import batch_norms, dropouts, is_scheduled

ENOUGH = 4  # steps
MOST_ROWS = 2048
MOST = 0.9  # of the passes or steps
TWICE = 1.8  # steps per gradient


@dataclass
class Passes:
    """Counts of one small weight's gradient, and of the modes of the passes with a graph."""

    subject: Subject
    steps: Steps
    pace: Pace
    kept: int = 0  # first backward passes after a step that found the old gradient
    firsts: int = 0
    fresh: int = 0  # later backward passes of a step that found none
    laters: int = 0
    modes: list[bool] = field(default_factory=list)  # training, per pass with a graph
    dropping: int = 0  # passes without a graph in which dropout was on
    plain: int = 0  # passes without a graph
    batches: list[int] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)  # of ids, each with its label
    labels: list[int] = field(default_factory=list)
    _at: int = -1  # steps taken at the last backward
    _given: Tensor | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        weight = _smallest(self.subject)
        handles = [self.subject.model.register_forward_pre_hook(Hook(self._pass), with_kwargs=True)]
        if weight is not None and self.subject.kind == LOOP:
            handles.append(weight.register_hook(self._gradient))
            handles.append(weight.register_post_accumulate_grad_hook(self._accumulated))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _gradient(self, given: Tensor) -> None:
        self._given = given.detach().clone()

    def _accumulated(self, weight: Tensor) -> None:
        given, held = self._given, weight.grad
        if given is None or held is None or not bool(given.any()):
            return
        is_fresh = torch.equal(held.detach(), given.to(held.dtype))
        if self._at != self.steps.num_steps:
            if self.steps.num_steps:
                self.firsts, self.kept = self.firsts + 1, self.kept + (not is_fresh)
            self._at = self.steps.num_steps
        else:
            self.laters, self.fresh = self.laters + 1, self.fresh + is_fresh

    def _pass(self, module: Any, _args: tuple, kwargs: Mapping) -> None:
        if torch.is_grad_enabled():
            self.modes.append(module.training)
            ids, labels = kwargs.get("input_ids"), kwargs.get("labels")
            if isinstance(ids, Tensor) and ids.dim() == 2 and len(self.batches) < 1000:
                self.batches.append(hash((ids.shape, ids.flatten()[:512].cpu().numpy().tobytes())))
            if (
                isinstance(ids, Tensor)
                and isinstance(labels, Tensor)
                and len(self.rows) < MOST_ROWS
            ):
                self._keep_rows(ids, labels)
        else:
            self.plain += 1
            layers = (m for m in module.modules() if isinstance(m, dropouts()))
            self.dropping += any(m.training and m.p > 0 for m in layers)

    def _keep_rows(self, ids: Tensor, labels: Tensor) -> None:
        """Rows with one class each, to see whether their words tell it."""
        if (
            self.subject.kind == LOOP
            and labels.shape == ids.shape[:1]
            and not labels.is_floating_point()
        ):
            self.rows += ids.tolist()
            self.labels += labels.tolist()

    def judge(self, sheet: Sheet) -> None:
        """Write down what a loop of one's own does wrong; a Trainer's loop is not judged."""
        if self.subject.kind != LOOP:
            return
        self._clearing(sheet)
        self._modes(sheet)
        self._schedule(sheet)
        losses = losses_of(self.subject.log)
        if len(losses) >= MOST_ROWS // 100 and (told := by_words(self.rows, self.labels)):
            judge_what_was_learnt(losses, self.labels, told, sheet)
        if len(self.batches) > 2 * ENOUGH and len(set(self.batches)) == 1:
            sheet.doubt(f"all {len(self.batches)} passes read the same batch")

    def _clearing(self, sheet: Sheet) -> None:
        if self.firsts >= ENOUGH and self.kept > MOST * self.firsts:
            found = "backward found the gradient of the step before"
            said = f"in {self.kept} of {self.firsts} steps {found}"
            sheet.find("gradients_not_cleared", COUNTED + 1, said, place="optimizer.zero_grad")
        elif self.laters >= ENOUGH and self.fresh > MOST * self.laters:
            said = (
                f"{self.laters + self.firsts} backward passes in {self.steps.num_steps} steps, and "
                "each found no gradient of the one before"
            )
            sheet.find("cleared_between", COUNTED + 1, said, place="optimizer.zero_grad")
        steps, given = self.steps.num_steps, self.firsts + 1
        if self.firsts >= ENOUGH and steps >= TWICE * given:
            said = f"{steps} optimizer steps, and a new gradient for {given} of them"
            sheet.find("stepped_twice", COUNTED + 1, said, place="optimizer.step()")
        norms = [one.grad_norm for one in self.steps.numbers]
        passed = self._at >= 0 and len(norms) >= ENOUGH
        if passed and max(norms) == 0:
            said = f"backward gave a gradient, and all {len(norms)} steps found none"
            sheet.find("cleared_before_step", COUNTED + 1, said, place="optimizer.zero_grad")
        elif self.firsts >= ENOUGH and not self.kept:
            sheet.clear("clearing of gradients", f"before each of {self.firsts} steps")

    def _modes(self, sheet: Sheet) -> None:
        if len(self.modes) < ENOUGH or not _drops(self.subject):
            return
        share = sum(self.modes) / len(self.modes)
        last = next((i for i, mode in enumerate(reversed(self.modes)) if mode), len(self.modes))
        before = len(self.modes) - last
        if last >= ENOUGH and before and all(self.modes[:before]) and self.plain:
            said = f"passes 1 to {before} were in training mode, and the {last} after them were not"
            sheet.find("mode_not_restored", COUNTED, said, place="model.train()")
        elif share == 0 and _at_their_start(self.subject):
            said = f"none of {len(self.modes)} passes with a graph was in training mode"
            more = "the running statistics of the batch norms are those that they were made with"
            place = "model.train()"
            sheet.find("never_in_training_mode", COUNTED, said, more, place=place)
        elif share == 0:
            sheet.show("mode of the model", "evaluation in all training passes: dropout is off")
        else:
            sheet.show("mode of the model", f"training in {share:.0%} of the passes with a graph")
        if self.dropping > MOST * self.plain and self.plain and share == 1:
            said = f"dropout was on in {self.dropping} of {self.plain} passes without a graph"
            sheet.find("evaluated_in_training_mode", MEASURED, said, place="model.eval()")

    def _schedule(self, sheet: Sheet) -> None:
        optimizer, rates = self.subject.optimizer, set(self.steps.rates())
        if self.steps.num_steps < 2 * ENOUGH or len(rates) != 1:
            return
        said = f"the rate was {min(rates):.2g} in all {self.steps.num_steps} steps"
        if self.pace.strange >= ENOUGH and len(self.steps.own) == 1 and not self.steps.strangers:
            more = f"a schedule of an optimizer that takes no step was stepped {self.pace.strange}"
            place = "the optimizer that the schedule was made with"
            sheet.find("schedule_of_another_optimizer", COUNTED, said, f"{more} times", place=place)
        elif optimizer is not None and is_scheduled(optimizer) and not self.pace.ticks:
            sheet.find("schedule_not_stepped", COUNTED, said, place="schedule.step()")


def _drops(subject: Subject) -> bool:
    """Whether the mode makes a difference."""
    return any(
        isinstance(m, batch_norms()) or (isinstance(m, dropouts()) and m.p > 0)
        for m in subject.model.modules()
    )


def _at_their_start(subject: Subject) -> bool:
    """Whether there are batch norms, and each still has the statistics of a new one."""
    norms = [m for m in subject.model.modules() if isinstance(m, batch_norms())]
    known = [m for m in norms if m.running_mean is not None]
    return bool(known) and all(
        not m.running_mean.any() and bool((m.running_var == 1).all()) for m in known
    )


def _smallest(subject: Subject) -> Tensor | None:
    """The smallest trained tensor that is no scalar, on which two hooks cost nothing."""
    held = {id(p) for g in getattr(subject.optimizer, "param_groups", ()) for p in g["params"]}
    known = [p for p in subject.trainable().values() if p.is_leaf and (not held or id(p) in held)]
    return min((p for p in known if p.dim()), key=lambda p: p.numel(), default=None)
