"""Watches what is loaded into the model in a run: the best weights, or those of a resumed run."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, Subject
from course_utils.diagnostics.diagnosis.watches.passes import Passes
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.hooks import Hook

SOME = 64  # numbers of a tensor
MOST = 0.5  # of the tensors that are loaded
HARDLY = 0.05  # of the way of the run: averages that fit it have gone far more
BEGIN = 4  # batches by which the beginning of the data is known


@dataclass
class Loads:
    """The last load_state_dict of the model behind a step, and the batches before each."""

    subject: Subject
    steps: Steps
    passes: Passes
    resumes: list[int] = field(default_factory=list)  # passes with a graph before each load
    loaded: int = 0  # tensors
    shared: int = 0  # of those, that are the model's own
    equal: int = 0  # and that have its values already
    at: int = 0  # steps that were taken before it
    back: int = 0  # tensors that have the values of the start
    share: float = 1.0  # of the way from the start to the trained weights, that they have gone
    left: float = 1.0  # of that way, what the weights have gone when the watch ends
    _start: dict[str, Tensor] = field(default_factory=dict)  # some of each trained tensor's numbers

    @contextmanager
    def listening(self) -> Iterator[None]:
        weights = self.subject.trainable().items()
        self._start = {name: _some(weight) for name, weight in weights}
        handle = self.subject.model.register_load_state_dict_pre_hook(Hook(self._hear))
        try:
            yield
        finally:
            handle.remove()
            with suppress(Exception):  # a model whose weights are elsewhere by now
                self.left = 1 - self.steps.gone_back()

    def _hear(self, _module: Any, state: Mapping, *_args: Any) -> None:
        if not self.steps.num_steps:
            return
        self.resumes.append(len(self.passes.batches))
        with suppress(Exception):  # a state of another form: nothing is said of it
            self._compare(state)

    def _compare(self, state: Mapping) -> None:
        own = dict(self.subject.model.named_parameters())
        pairs = [(state[n], p) for n, p in own.items() if isinstance(state.get(n), Tensor)]
        trained = [(given, held) for given, held in pairs if held.requires_grad]
        self.loaded = len(trained)
        self.shared = sum(given.data_ptr() == held.data_ptr() for given, held in trained)
        self.equal = sum(
            given.shape == held.shape and torch.equal(given.to(held.device), held.detach())
            for given, held in trained
        )
        self.at = self.steps.num_steps
        begun = [(state[n], some) for n, some in self._start.items() if n in state]
        self.back = sum(torch.equal(_some(given), some) for given, some in begun)
        self.share = _gone(begun, [_some(own[name]) for name in self._start if name in state])
        self.subject.was_put_back = self.equal < MOST * self.loaded

    def judge(self, sheet: Sheet) -> None:
        self._data(sheet)
        if not self.loaded:
            self._written(sheet)
            return
        said = f"load_state_dict was given {self.loaded} trained tensors"
        place = "model.state_dict(), load_state_dict"
        if self.shared > MOST * self.loaded:
            more = f"{said}, and {self.shared} of them are the model's own, trained on since"
            sheet.find("kept_by_reference", COUNTED + 1, more, place=place)
        elif self.back == self.loaded and self.at == self.steps.num_steps and not self.equal:
            more = f"{said}, behind {self.at} steps, and each has the values of before the first"
            sheet.find("start_loaded_back", COUNTED, more, place="load_state_dict")
        elif self.at == self.steps.num_steps and not self.equal and self.share < HARDLY:
            _nearly_the_start(f"{said}, behind {self.at} steps, and they have", self.share, sheet)
        elif self.equal == self.loaded and (when := best_before_last(self.subject)):
            more = f"{said}, and each has the value that the model had already"
            sheet.find("last_loaded_as_best", MEASURED, more, when, place=place)
        elif self.subject.was_put_back:
            sheet.show("weights that were loaded", f"{said} of other values than it had")

    def _written(self, sheet: Sheet) -> None:
        """Weights that were copied into the model behind the last step, with no load."""
        if self.steps.num_steps >= BEGIN and self.left < HARDLY:
            said = f"most weights were written anew behind step {self.steps.num_steps}, and have"
            _nearly_the_start(said, max(self.left, 0.0), sheet)

    def _data(self, sheet: Sheet) -> None:
        """Behind each load the batches of the beginning come again, in their order.

        A shuffled loader gives other batches, and a loop that loads weights to evaluate them goes
        on with the next one.
        """
        read = self.passes.batches
        began, places = read[:BEGIN], [at for at in self.resumes if at + BEGIN <= len(read)]
        if self.subject.kind != LOOP or not places or len(set(began)) < BEGIN:
            return
        again = [at for at in places if read[at : at + BEGIN] == began]
        said = f"weights were loaded {len(places)} times during the run; {len(again)} times the "
        said += "batches of its beginning came again behind it, in their order"
        if len(again) < len(places) or min(again) < BEGIN:
            sheet.show("data behind a load", said)
            return
        different = len(set(read))
        sheet.find(
            "resumed_without_state",
            LIKELY,
            said,
            f"the {len(read)} batches that were read are {different} different ones",
            place="the stream or loader, where the run is resumed",
            why="each resume reads the data from its beginning: the first batches are learnt again "
            "and again, and what stands behind them is never read",
            advice="skip the batches that were read (itertools.islice, skip_first_batches), or "
            "save the loader's state with the weights",
        )


def _nearly_the_start(said: str, share: float, sheet: Sheet) -> None:
    sheet.find(
        "start_loaded_back",
        MEASURED,
        f"{said} gone {share:.1%} of the way from the first weights to the trained ones",
        place="the average of the weights, as it is put into the model",
        why="the weights of the end are nearly those from before the first step: an average that "
        "is longer than the run",
        advice="a decay whose memory, 1 / (1 - decay) steps, is a small part of the run, or one "
        "that begins small; evaluate the averaged weights before they are kept",
    )


def _gone(given: list[tuple[Tensor, Tensor]], trained: list[Tensor]) -> float:
    """Which share of the way from the start to the trained weights the given ones have gone."""
    ways = [
        (
            _some(new).cpu().double() - start.cpu().double(),
            now.cpu().double() - start.cpu().double(),
        )
        for (new, start), now in zip(given, trained, strict=True)
    ]
    gone, whole = (torch.cat([way[side] for way in ways]) for side in (0, 1))
    return float(gone.norm() / whole.norm()) if bool(whole.any()) else 1.0


def _some(weight: Tensor) -> Tensor:
    """A copy of numbers at even distances."""
    flat = weight.detach().flatten()
    return flat[:: max(1, len(flat) // SOME)].clone()


def best_before_last(subject: Subject) -> str:
    """Which evaluation was the best, where that is not the last; else "".

    By the metric that the settings choose by; the loss, if they choose by none.
    """
    chosen = getattr(subject.args, "metric_for_best_model", None) or "loss"
    name = f"eval_{chosen.removeprefix('eval_')}"
    rises = name != "eval_loss" and getattr(subject.args, "greater_is_better", False)
    found = [row[name] for row in subject.log if isinstance(row.get(name), int | float)]
    found = subject.logged("eval_loss") if name == "eval_loss" else found
    judged = [v for v in found if math.isfinite(v)]
    top = (max if rises else min)(judged, default=0.0)
    if len(judged) < 2 or top == judged[-1]:
        return ""
    best, word = judged.index(top), "highest" if rises else "lowest"
    return f"{name} was {word} in evaluation {best + 1} of {len(judged)}: {top:.4g}"
