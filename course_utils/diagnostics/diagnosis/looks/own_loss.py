"""Looks at a loss of one's own beside the model's: its direction, its targets, its weights."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from course_utils.diagnostics.diagnosis.looks.split import has_labels
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, Loss, speaks_for
from course_utils.diagnostics.nonfinite.batches import keep
from course_utils.diagnostics.nonfinite.targets import loss_in
from course_utils.diagnostics.one_step import open_model

AGAINST = -0.3  # cosine of the two gradients
FEWEST = 8  # targets
FAR = 0.1  # of the spread of the logits


@speaks_for(Loss.ROWS, Loss.TAGS, Loss.NEXT_TOKEN, Loss.HIDDEN_TOKENS, Loss.SEQ2SEQ)
def look_at_own_loss(subject: Subject, sheet: Sheet) -> None:
    if not subject.has_own_loss or not has_labels(subject.batch) or not subject.trainable():
        return
    if subject.trainer is None and subject.loss_of is None:
        return
    with put_back(subject), Targets() as heard, heard.hearing(subject.model):
        target = subject.trainer or subject.model
        own = loss_in(open_model(target, subject.loss_of).loss_of(keep(subject.batch)))
        gradient = _vector(own, subject)
    heard.judge(subject, sheet)
    with put_back(subject):
        plain = getattr(subject.model(**keep(dict(subject.batch))), "loss", None)
        wanted = _vector(plain, subject) if isinstance(plain, Tensor) else None
    if gradient is None or wanted is None:
        return
    cosine = float(torch.cosine_similarity(gradient, wanted, dim=0))
    said = (
        f"the loss is {float(own):.3g}, the model's own on these rows {float(plain):.3g}; the "
        f"cosine of their gradients is {cosine:.2g}"
    )
    if cosine < AGAINST:
        sheet.find("loss_against_labels", MEASURED, said, place="compute_loss")
    else:
        sheet.show("the loss beside the model's own", said)


def _vector(loss: Tensor | None, subject: Subject) -> Tensor | None:
    weights = list(subject.trainable().values())
    if loss is None or not loss.requires_grad or loss.dim():
        return None
    grads = torch.autograd.grad(loss, weights, allow_unused=True)
    parts = [
        (torch.zeros_like(w) if g is None else g).flatten()
        for w, g in zip(weights, grads, strict=True)
    ]
    whole = torch.cat(parts).double()
    return whole if bool(whole.isfinite().all()) and bool(whole.any()) else None


class Targets(TorchFunctionMode):
    """In the block, keeps what cross_entropy is given: targets, number of rows, weights."""

    def __init__(self) -> None:
        super().__init__()
        self.of_model: Tensor | None = None  # the logits of the last pass
        self.given: list[tuple[Tensor, Tensor, Tensor | None]] = []  # logits, targets, weights

    @contextmanager
    def hearing(self, model: nn.Module) -> Iterator[None]:
        """In the block, the logits that the model returns are kept."""

        def keep_logits(_module: nn.Module, _args: tuple, output: Any) -> None:
            logits = getattr(output, "logits", None)
            self.of_model = logits.detach() if isinstance(logits, Tensor) else None

        handle = model.register_forward_hook(keep_logits)
        try:
            yield
        finally:
            handle.remove()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is F.cross_entropy and len(args) > 1:
            weight = kwargs.get("weight", args[2] if len(args) > 2 else None)
            self.given.append((args[0].detach(), args[1].detach(), weight))
        return function(*args, **kwargs)

    def judge(self, subject: Subject, sheet: Sheet) -> None:
        for logits, targets, weight in self.given:
            if targets.is_floating_point() or targets.numel() < FEWEST // 2:
                continue
            if subject.loss is Loss.NEXT_TOKEN:
                _moved(targets, subject.batch, sheet)
                _are_of_model(logits, self.of_model, sheet)
            if isinstance(weight, Tensor):
                judge_weights(targets, weight, sheet)


def _moved(targets: Tensor, batch: Mapping, sheet: Sheet) -> None:
    """Targets that are the ids of all places, in place, are those of the token itself."""
    ids, flat = batch["input_ids"].flatten(), targets.flatten()
    if flat.shape != ids.shape:
        return
    learnt = flat != IGNORED
    same = float((flat == ids.to(flat.device))[learnt].float().mean()) if bool(learnt.any()) else 0
    if same > 0.99:
        said = f"{same:.0%} of its {int(learnt.sum())} targets are the token at the same place"
        sheet.find("loss_not_shifted", COUNTED, said, place="compute_loss, F.cross_entropy")


def _are_of_model(given: Tensor, logits: Tensor | None, sheet: Sheet) -> None:
    """Each row of the logits that the loss takes must be the logits of one token."""
    if logits is None or given.dim() != 2 or given.shape[-1] != logits.shape[-1]:
        return
    flat, few = logits.flatten(0, -2).float(), given[:FEWEST].float()
    near = min(float((flat - row).abs().amax(-1).min()) for row in few)
    spread = float(flat.std())
    if near > FAR * spread and abs(float(given.float().std()) - spread) < FAR * spread:
        sheet.find(
            "loss_against_labels",
            MEASURED,
            "none of the first rows that cross_entropy takes are the logits of a token",
            place="compute_loss",
            why="the logits of different tokens and words are mixed before the loss: its axes are "
            "flattened in another order than they stand",
        )


def judge_weights(targets: Tensor, weight: Tensor, sheet: Sheet) -> None:
    lost = [int(c) for c in targets.unique() if 0 <= c < len(weight) and float(weight[c]) == 0]
    if lost:
        count = sum(int((targets == c).sum()) for c in lost)
        said = f"class {lost[0]} has weight 0, and {count} of {targets.numel()} labels are of it"
        sheet.find("class_without_weight", COUNTED, said, place="weight of F.cross_entropy")
