"""Compares a sampler that is another model with the model that trains, step by step."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.optim import optimizer as optimizers

from course_utils.diagnostics.diagnosis.measures.comparing import ROUNDING
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

NUM_TENSORS, SAMPLE = 8, 512


@dataclass
class SamplerWatch:
    """How far sampler and model differ when a step begins, and whether the sampler changes."""

    subject: Subject
    apart: list[float] = field(default_factory=list)  # largest difference, before each step
    moves: int = 0  # steps before which the sampler had changed
    failures: list[Exception] = field(default_factory=list)
    place: str = ""
    _last: list[Tensor] = field(default_factory=list)

    @property
    def is_another(self) -> bool:
        sampler = self.subject.sampler
        if not isinstance(sampler, nn.Module) or sampler is self.subject.model:
            return False
        return not _shared(sampler, self.subject.model)

    @contextmanager
    def listening(self) -> Iterator[None]:
        if not self.is_another:
            yield
            return
        handle = optimizers.register_optimizer_step_pre_hook(self._look)
        try:
            yield
        finally:
            handle.remove()

    def _look(self, _optimizer, *_args) -> None:
        try:
            pairs = _pairs(self.subject)
            now = [_some(sampler) for _, _, sampler in pairs]
            gaps = [_gap(own, sampler) for _, own, sampler in pairs]
            moved = bool(self._last) and any(
                not torch.equal(a, b) for a, b in zip(self._last, now, strict=True)
            )
            self.moves += moved
            self.apart.append(max(gaps, default=0.0))
            self.place = pairs[gaps.index(max(gaps))][0] if gaps else ""
            self._last = now
        except Exception as error:
            self.failures.append(error)

    def judge(self, sheet: Sheet) -> None:
        for error in self.failures[:1]:
            sheet.fail("the sampler", error)
        if len(self.apart) < 2:
            return
        first, last, taken = self.apart[0], self.apart[-1], len(self.apart)
        said = (
            f"largest difference of a weight, rounding aside: {first:.2g} at step 1, "
            f"{last:.2g} at step {taken}"
        )
        moved = f"the sampler's weights changed {self.moves} times in {taken} steps"
        if not self.moves and last > 2 * first:
            sheet.find("stale_sampler", COUNTED, said, moved, place=self.place)
        elif first > 0:
            sheet.find("logp_disagree", MEASURED, said, moved, place=self.place)
        else:
            sheet.clear("sampler's weights", f"{said}; {moved}")


def _pairs(subject: Subject) -> list[tuple[str, Tensor, Tensor]]:
    theirs = dict(subject.sampler.named_parameters())
    named = [(n, p, theirs[n]) for n, p in subject.trainable().items() if n in theirs]
    return named[:: max(1, len(named) // NUM_TENSORS)]


def _gap(own: Tensor, theirs: Tensor) -> float:
    """The largest difference; 0 if it is within the rounding of the narrower format."""
    a, b = _some(own).float(), _some(theirs).float()
    gap = float((a - b).abs().max())
    rounding = max(ROUNDING.get(own.dtype, 0.0), ROUNDING.get(theirs.dtype, 0.0))
    return gap if gap > rounding * float(a.abs().max()) else 0.0


def _some(weight: Tensor) -> Tensor:
    flat = weight.detach().flatten()
    return flat[:: max(1, len(flat) // SAMPLE)].clone()


def _shared(a: nn.Module, b: nn.Module) -> bool:
    addresses = {p.data_ptr() for p in a.parameters()}
    return any(p.data_ptr() in addresses for p in b.parameters())
