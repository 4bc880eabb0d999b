"""Watches which rows a loop trains on, which it evaluates, and whether it learns padding."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, Subject
from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.loss_kind import IGNORED, Loss

FEWEST, MOST = 16, 20_000  # rows
ALL = 0.95  # of the rows that are evaluated
EVALUATION = ("eval", "val", "test", "dev", "held")  # how numbers of an evaluation are called


@dataclass
class RowsSeen:
    """Rows of token ids that went through the model, as hashes of the tokens that count."""

    subject: Subject
    trained: set[int] = field(default_factory=set)
    tested: set[int] = field(default_factory=set)
    padding: int = 0  # tokens under a mask of 0 that have a label
    learnt: int = 0  # tokens that have a label

    @contextmanager
    def listening(self) -> Iterator[None]:
        hears = {Loss.ROWS: self._pass, Loss.NEXT_TOKEN: self._tokens}.get(self.subject.loss)
        if self.subject.kind != LOOP or hears is None:
            yield
            return
        handle = self.subject.model.register_forward_pre_hook(Hook(hears), with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()

    def _pass(self, module: Any, _args: tuple, kwargs: Mapping) -> None:
        into = self.trained if torch.is_grad_enabled() else self.tested
        is_meant = torch.is_grad_enabled() or not module.training
        if is_meant and len(into) < MOST:
            with suppress(Exception):  # inputs of another form: nothing is said of them
                into |= set(_rows(kwargs))

    def _tokens(self, _module: Any, _args: tuple, kwargs: Mapping) -> None:
        mask, labels = kwargs.get("attention_mask"), kwargs.get("labels")
        if not torch.is_grad_enabled() or not isinstance(mask, Tensor):
            return
        if isinstance(labels, Tensor) and labels.shape == mask.shape:
            has_label = labels != IGNORED
            self.learnt += int(has_label.sum())
            self.padding += int((has_label & (mask == 0)).sum())

    def judge(self, sheet: Sheet) -> None:
        if self.padding and not any(one.key == "padding_learnt" for one in sheet.found):
            said = f"{self.padding} of {self.learnt} labels stand where the attention mask is 0"
            sheet.find("padding_learnt", COUNTED, said, place="labels")
        self._evaluation(sheet)

    def _evaluation(self, sheet: Sheet) -> None:
        """Name an evaluation whose rows are all trained on; one of both kinds is no fault."""
        names = {name for entry in self.subject.log for name in entry}
        names = {name for name in names if name.lower().startswith(EVALUATION)}
        if len(self.tested) < FEWEST or not names:
            return
        both = len(self.tested & self.trained)
        said = f"{both} of {len(self.tested)} rows that are evaluated are trained on as well"
        if both > ALL * len(self.tested):
            place = f"the rows behind {sorted(names)[0]}"
            sheet.find("rows_in_both", MEASURED, said, place=place)
        else:
            sheet.clear("rows that are evaluated", said)


def _rows(inputs: Mapping) -> Iterator[int]:
    ids, mask = inputs["input_ids"], inputs.get("attention_mask")
    keep = mask.bool() if isinstance(mask, Tensor) and mask.shape == ids.shape else ids == ids
    for row, kept in zip(ids.cpu(), keep.cpu(), strict=True):
        yield hash(tuple(row[kept].tolist()))
