"""Watches which positions of a text the loss reads: padding among them, or another than the last.

Where the gradient of the last hidden states is not 0, the loss reads them. Shape letters: B rows,
T tokens, H features.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import (
    PAIRS,
    POLICY,
    REPLIES,
    Subject,
)
from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.loss_kind import Loss, head_of

MOST_PASSES = 12
FEWEST = 3  # rows with padding
SHARE = 0.2  # of them, that are read wrongly
MASS = 0.02  # of the gradient, that stands on padding
NONE = 1e-6  # of a row's largest gradient
PER_TOKEN = {Loss.NEXT_TOKEN, Loss.HIDDEN_TOKENS, Loss.TAGS, Loss.SPANS, Loss.SEQ2SEQ}


@dataclass
class ReadPlaces:
    """Of the first passes with a graph, how each padded row was read."""

    subject: Subject
    passes: int = 0
    padded: int = 0  # rows
    on_padding: int = 0  # of those, whose padding is read
    elsewhere: int = 0  # that are read at one place: that of their number of tokens
    single: int = 0  # that are read at one place
    mass: float = 0.0  # sum over those rows of the gradient's share on padding
    sides: Counter = field(default_factory=Counter)

    @contextmanager
    def listening(self) -> Iterator["ReadPlaces"]:
        if not _may_pool(self.subject):
            yield self
            return
        modules = [m for m in self.subject.model.modules() if hasattr(m, "config")]
        handles = [m.register_forward_hook(Hook(self._pass), with_kwargs=True) for m in modules]
        try:
            yield self
        finally:
            for handle in handles:
                handle.remove()

    def _pass(self, _module: nn.Module, _args: tuple, kwargs: Mapping, output: Any) -> None:
        mask, hidden = kwargs.get("attention_mask"), getattr(output, "last_hidden_state", None)
        if not isinstance(mask, Tensor) or not isinstance(hidden, Tensor) or mask.dim() != 2:
            return
        is_known = hidden.dim() == 3 and hidden.shape[:2] == mask.shape and hidden.requires_grad
        if not is_known or self.passes >= MOST_PASSES or bool(mask.bool().all()):
            return
        self.passes += 1
        hidden.register_hook(lambda grad: self._read(grad.detach(), mask.bool()))

    def _read(self, grad_BTH: Tensor, mask_BT: Tensor) -> None:
        with suppress(Exception):  # a gradient of another form: nothing is said of it
            self._count(grad_BTH.float().norm(dim=-1), mask_BT)

    def _count(self, norm_BT: Tensor, mask_BT: Tensor) -> None:
        for norm, mask in zip(norm_BT.cpu(), mask_BT.cpu(), strict=True):
            if bool(mask.all()) or not bool(mask.any()) or float(norm.max()) == 0:
                continue
            read = norm > NONE * norm.max()
            is_left, at = not bool(mask[0]), int(norm.argmax())
            self.padded += 1
            self.sides["left" if is_left else "right"] += 1
            self.on_padding += bool((read & ~mask).any())
            self.mass += float(norm[~mask].sum() / norm.sum())
            if int(read.sum()) == 1:
                self.single += 1  # a marker amid the text may be meant, and the first token is
                is_by_count = at == int(mask.sum()) - 1 and at != int(mask.nonzero().min())
                self.elsewhere += is_left and is_by_count

    def judge(self, sheet: Sheet) -> None:
        if self.padded < FEWEST:
            return
        side = self.sides.most_common(1)[0][0]
        is_read = self.on_padding >= SHARE * self.padded and self.mass >= MASS * self.padded
        wrong = self.on_padding + self.elsewhere
        is_single = self.single == self.padded and wrong >= SHARE * self.padded
        if not is_read and not is_single:
            sheet.clear("vectors that the loss reads", f"none of padding, in {self.padded} rows")
            return
        if any(one.key in ("padding_pooled", "mask_inverted") for one in sheet.found):
            return
        said = (
            f"of {self.padded} rows with padding (on the {side}) the loss reads the vectors of "
            f"padding in {self.on_padding}"
        )
        found = f"{self.mass / self.padded:.0%} of the gradient of their hidden states is there"
        if is_single:
            found = f"each row is read at one position; {self.elsewhere} at a token amid the text"
            why = (
                f"the position whose vector is pooled does not fit the padding, which is on the "
                f"{side}: the vectors of short texts are those of padding or of a token amid them"
            )
            fix = "hidden[:, -1]" if side == "left" else "hidden[rows, mask.sum(1) - 1]"
            advice = (
                f"take the last token by the padding side: {fix} for padding on the {side}, or pad "
                "on the other side (the first token of a text stands at mask.argmax(1))"
            )
        else:
            why = "the vector of a row is a mean over padding as well: that of a short text is "
            why += "mostly padding, and depends on the other rows of its batch"
            advice = "(hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)"
        place = f"what pools the hidden states, padding_side={side!r}"
        sheet.find("padding_pooled", COUNTED, said, found, place=place, why=why, advice=advice)


def _may_pool(subject: Subject) -> bool:
    """Whether a row has one vector: losses of tokens read each of them, also before the text."""
    config = getattr(subject.model, "config", None)
    is_per_token = head_of(subject.model) in PER_TOKEN
    is_both = getattr(config, "is_encoder_decoder", False)
    return not (is_per_token or is_both or subject.kind in (POLICY, PAIRS, REPLIES))
