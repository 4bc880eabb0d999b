"""What the loss functions of torch are given: probabilities are no logits and no logs."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet

TAKES = {
    F.kl_div: "log-probabilities",
    F.nll_loss: "log-probabilities",
    F.cross_entropy: "logits",
    F.binary_cross_entropy_with_logits: "logits",
}
NEAR = 1e-2  # of 1: what rounding leaves of a sum of probabilities


class LossInputs(TorchFunctionMode):
    """In the block, notes the loss functions whose first argument is probabilities.

    A row of logits or log-probabilities is not above 0 throughout with a sum of 1 by chance.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wrong: dict[Any, str] = {}  # function -> the sum over the classes

    def judge(self, sheet: Sheet) -> None:
        for function, sums in self.wrong.items():
            name, takes = function.__name__, TAKES[function]
            is_cross = takes == "logits"
            sheet.find(
                "probabilities_as_logs",
                COUNTED,
                f"the first argument of {name} is nowhere below 0, and sums to {sums} over the "
                "classes",
                place=f"the loss, F.{name}",
                why=f"{name} takes {takes} as its first argument, and gets probabilities",
                advice=f"give {name} the logits, without a softmax"
                if is_cross
                else f"log_softmax instead of softmax for the first argument of {name}",
            )

    def __torch_function__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in TAKES:
            given = args[0] if args else kwargs.get("input")
            if isinstance(given, Tensor) and (sums := sums_to_one(given)):
                self.wrong[function] = sums
        return function(*args, **kwargs)


def sums_to_one(given: Tensor) -> str:
    """The sums over the classes, in words, if they are those of probabilities; else ""."""
    if given.dim() < 2 or given.shape[-1] < 2 or not given.is_floating_point():
        return ""
    with torch.no_grad():
        sums = given.detach().float().sum(-1)
        is_so = bool((given >= 0).all()) and bool(((sums - 1).abs() < NEAR).all())
    return f"{float(sums.mean()):.4g}" if is_so else ""
