"""What a loss does with the labels of a batch: whether it moves them, whether they are its target.

Shape letters: B rows, T tokens.
"""

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.heard_losses import HeardLosses, Listening
from course_utils.diagnostics.diagnosis.measures.one_loss import learnt_places, take_loss
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.subject import Subject, is_of_a_library
from course_utils.diagnostics.loss_kind import IGNORED, head_of
from course_utils.diagnostics.reach.reading import base_of


def has_own_forward(model: nn.Module) -> bool:
    """Whether a model's forward pass is the user's own, and with it the loss that it returns."""
    return not is_of_a_library(type(base_of(model)).forward)


def are_next_ids(labels_BT: Tensor, ids_BT: Tensor) -> bool:
    """Whether each label with an id behind its place is that id, and there is one.

    >>> are_next_ids(torch.tensor([[8, 9, -100]]), torch.tensor([[7, 8, 9]]))
    True
    """
    learnt = labels_BT[:, :-1] != IGNORED
    return bool(learnt.any()) and torch.equal(labels_BT[:, :-1][learnt], ids_BT[:, 1:][learnt])


def moves_labels(subject: Subject) -> bool:
    """Whether the loss compares a label with the logits one place before it.

    Where that is not seen, a language model of transformers does, and of another one nothing is
    known.
    """
    learnt_BT = learnt_places(subject)
    here_BT = (subject.batch["labels"] != IGNORED).cpu()
    if learnt_BT is None or learnt_BT.dim() != 2 or learnt_BT.shape[1] < here_BT.shape[1]:
        return head_of(base_of(subject.model)) is not None
    learnt_BT = learnt_BT[:, -here_BT.shape[1] :]  # a soft prompt stands before the tokens
    before_BT = torch.cat([here_BT[:, 1:], torch.zeros_like(here_BT[:, :1])], 1)
    differ_BT = here_BT != before_BT
    return bool((learnt_BT == before_BT)[differ_BT].double().mean() > 0.5)


def labels_are_targets(subject: Subject) -> bool:
    """Whether a loss function of torch gets the labels of the batch as its target.

    Rows of one class alone are meant where a loss has another target: the text, or a distance.
    """
    labels = subject.batch["labels"].flatten().cpu().double()
    heard = HeardLosses()
    with put_back(subject), Listening(heard):
        take_loss(subject)
    targets = (call.target.flatten().cpu().double() for call in heard.calls)
    return any(torch.equal(one, labels) for one in targets)
