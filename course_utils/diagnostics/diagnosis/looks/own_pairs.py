"""Looks at a loss of one's own on pairs: which rows of the batch it pushes up.

Shape letters: B rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.data_sets import column, columns_of
from course_utils.diagnostics.diagnosis.measures.forward import logits_in
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.nonfinite.batches import keep
from course_utils.diagnostics.nonfinite.targets import loss_in
from course_utils.diagnostics.one_step import open_model

BETTER = ("chosen", "win", "winner", "better", "good", "preferred", "accepted", "positive")
WORSE = ("rejected", "lose", "loser", "worse", "bad", "dispreferred", "refused", "negative")
FEWEST, MOST = 3, 512  # rows of the batch of each kind; rows of the data whose texts are known
MIXED, TURNED = 0.25, 0.9  # shares of the rows that are pushed the wrong way
LEFT = 0.1  # of all pushes: what they sum to in a loss that compares rows with each other


def look_at_own_pairs(subject: Subject, sheet: Sheet) -> None:
    """The score of a better text is to be pushed up, that of a worse one down."""
    data = getattr(subject.trainer, "train_dataset", None)
    names = columns_of(data)
    better, worse = (_named(of, names) for of in (BETTER, WORSE))
    if not (better and worse and subject.has_own_loss and subject.tokenizer is not None):
        return
    good, bad = (_texts(data, name, subject) for name in (better, worse))
    pushes = _pushes(subject)
    pushed = Counter(
        (is_good, slope < 0)
        for ids, slope in pushes
        if (is_good := _kind(_decoded(subject, ids), good - bad, bad - good)) is not None
    )
    ups, downs = pushed[False, True], pushed[True, False]
    num_good, num_bad = (sum(pushed[kind, up] for up in (True, False)) for kind in (True, False))
    if min(num_good, num_bad) < FEWEST:
        return
    said = (
        f"of {num_good} rows of the column {better!r} the loss pushes {num_good - downs} up; of "
        f"{num_bad} of the column {worse!r} it pushes {ups} up"
    )
    wrong = (ups + downs) / (num_good + num_bad)
    if wrong > TURNED:
        sheet.find("pairs_inverted", COUNTED, said, place="compute_loss, the collator")
    elif wrong > MIXED and compares(slope for _, slope in pushes):
        sheet.find(
            "pairs_misaligned",
            COUNTED,
            said,
            place="compute_loss and the collator: the order of the rows in the batch",
            why="the loss compares rows of the batch that are no pair",
            advice="split the batch as the collator joins it: scores[0::2] and [1::2] for rows "
            "that alternate, chunk(2) for one half behind the other",
        )
    else:
        sheet.clear("which rows the loss pushes up", said)


def compares(slopes: Iterable[float]) -> bool:
    """Whether a loss compares scores with each other: then what it pushes up it takes elsewhere.

    A loss that has a target for each score may push all of them up.

    >>> compares([-0.5, 0.5, -0.1, 0.1]), compares([-0.5, -0.2])
    (True, False)
    """
    slopes = list(slopes)
    return abs(sum(slopes)) <= LEFT * sum(map(abs, slopes))


def _named(words: tuple[str, ...], names: list[str]) -> str:
    """The column of that name, or of that name with more behind it, such as "chosen_input_ids"."""
    ids = [name for name in names if name.endswith("_ids")]
    whole = next((word for word in words if word in names), "")
    return whole or next((n for word in words for n in ids if n.startswith(f"{word}_")), "")


def _texts(data: Any, name: str, subject: Subject) -> set[str]:
    """Its texts, also where it holds them as ids; without the end that TRL adds to each."""
    end = subject.tokenizer.eos_token or ""
    values = column(data, name, MOST)
    texts = [
        _decoded(subject, one) if isinstance(one, list) and one and isinstance(one[0], int) else one
        for one in values
    ]
    texts = [one.strip().removesuffix(end) for one in texts if isinstance(one, str)]
    return {one.strip() for one in texts} - {""}


def _decoded(subject: Subject, ids: Tensor | list[int]) -> str:
    return subject.tokenizer.decode(ids, skip_special_tokens=True).strip()


def _kind(text: str, good: set[str], bad: set[str]) -> bool | None:
    """Whether a row ends with a better text; None where it may be either."""
    ends = [
        {one for one in known if text.endswith(one)} if text not in known else {text}
        for known in (good, bad)
    ]
    longest = [max(map(len, one), default=0) for one in ends]
    return None if longest[0] == longest[1] else longest[0] > longest[1]


def _pushes(subject: Subject) -> list[tuple[Tensor, float]]:
    """Rows of ids, and the slope of the loss by their score: a step goes against it. Not of 0."""
    passes: list[tuple[Tensor, Tensor]] = []

    def hear(_module: Any, _args: tuple, kwargs: Mapping, output: Any) -> None:
        scores, ids = logits_in(output), kwargs.get("input_ids")
        if isinstance(scores, Tensor) and isinstance(ids, Tensor) and scores.numel() == len(ids):
            passes.append((ids, scores))

    handle = subject.model.register_forward_hook(hear, with_kwargs=True)
    try:
        target = subject.trainer or subject.model
        loss = loss_in(open_model(target, subject.loss_of).loss_of(keep(subject.batch)))
    finally:
        handle.remove()
    if not passes or loss is None or not loss.requires_grad:
        return []
    scores = [one for _, one in passes if one.requires_grad]
    grads = torch.autograd.grad(loss, scores, allow_unused=True) if scores else ()
    return [
        (row, float(slope))
        for (ids, _), grad in zip(passes, grads, strict=False)
        if grad is not None
        for row, slope in zip(ids, grad.flatten(), strict=True)
        if float(slope)
    ]
