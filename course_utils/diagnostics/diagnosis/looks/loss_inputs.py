"""Looks at what the loss functions of torch are given: probabilities are no logits and no logs."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from course_utils.diagnostics.diagnosis.looks.gradient import has_own_loss
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.nonfinite.batches import keep
from course_utils.diagnostics.one_step import open_model

TAKES = {
    F.kl_div: "log-probabilities",
    F.nll_loss: "log-probabilities",
    F.cross_entropy: "logits",
}
NEAR = 1e-2  # of 1: what rounding leaves of a sum of probabilities


def look_at_loss_inputs(subject: Subject, sheet: Sheet) -> None:
    """Run the user's own loss once on the first rows, and read what its loss functions are given.

    A row of logits or log-probabilities does not sum to 1 by chance.
    """
    if subject.kind == POLICY or subject.batch is None or not has_own_loss(subject):
        return
    with put_back(subject), _Inputs() as inputs:
        open_model(subject.trainer or subject.model, subject.loss_of).loss_of(keep(subject.batch))
    for function, sums in inputs.wrong.items():
        name, takes = function.__name__, TAKES[function]
        is_cross = function is F.cross_entropy
        sheet.find(
            "probabilities_as_logs",
            COUNTED,
            f"the first argument of {name} is nowhere below 0, and sums to {sums} over the classes",
            place=f"compute_loss, F.{name}",
            why=f"{name} takes {takes} as its first argument, and gets probabilities",
            advice=f"give {name} the logits, without a softmax"
            if is_cross
            else f"log_softmax instead of softmax for the first argument of {name}",
        )


class _Inputs(TorchFunctionMode):
    """Notes the loss functions whose first argument is probabilities, with their sum."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: dict[Any, str] = {}

    def __torch_function__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in TAKES:
            given = args[0] if args else kwargs.get("input")
            if isinstance(given, Tensor) and (sums := _sums_to_one(given)):
                self.wrong[function] = sums
        return function(*args, **kwargs)


def _sums_to_one(given: Tensor) -> str:
    """The sums over the classes, in words, if they are those of probabilities; else ""."""
    if given.dim() < 2 or given.shape[-1] < 2 or not given.is_floating_point():
        return ""
    with torch.no_grad():
        sums = given.detach().float().sum(-1)
        is_so = bool((given >= 0).all()) and bool(((sums - 1).abs() < NEAR).all())
    return f"{float(sums.mean()):.4g}" if is_so else ""
