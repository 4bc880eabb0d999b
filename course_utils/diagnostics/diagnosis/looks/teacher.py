"""Looks at a model that is held beside the trained one to learn from: is anything in it, and does
the trained one say what it says, at the place where it says it?"""

import math
import re

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.looks.weights import norms_are_drawn
from course_utils.diagnostics.diagnosis.measures.forward import evaluated, has_ids, outputs_of
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, Loss, head_of, speaks_for

AGREES, FEWEST = 0.8, 8  # of the next tokens; so many are needed
_NAMED = re.compile(r"teacher|mentor|tutor|oracle|(?:big|large)(?:r|_model)?$")
GUESSED = 0.95  # of ln V: a teacher knows the next token better than that


@speaks_for(Loss.NEXT_TOKEN, Loss.POLICY, Loss.ROWS)
def look_at_teacher(subject: Subject, sheet: Sheet) -> None:
    """A teacher whose norms are all 1, and who guesses what the first rows ask for."""
    for name, teacher in drawn_teachers(subject):
        nats, size, what = _guess(teacher, subject.batch)
        if nats < GUESSED * math.log(size):
            continue
        sheet.find(
            "frozen_as_drawn",
            MEASURED + 1,
            f"{name}: all norms are 1, and {what} on the first rows is {nats:.3g} nats; guessing "
            f"has ln({size}) = {math.log(size):.3g}",
            place=name,
            why="the teacher has learnt nothing: its weights are as they were drawn at random, so "
            "the student learns noise",
            advice="load the teacher's checkpoint with strict=True, or look at its missing and "
            "unexpected keys: a prefix such as module. or _orig_mod. in names",
        )


def drawn_teachers(subject: Subject) -> list[tuple[str, nn.Module]]:
    """The teachers with nothing in them, but for those that begin as copies of their student."""
    known = _teachers(subject, Loss.NEXT_TOKEN, Loss.ROWS)
    return [
        (name, one)
        for name, one in known
        if norms_are_drawn(one) and not _is_copy(one, subject.model)
    ]


@speaks_for(Loss.NEXT_TOKEN)
def look_at_student(subject: Subject, sheet: Sheet) -> None:
    """Behind a run: the student's next tokens beside the teacher's there, and one place on."""
    for name, teacher in _teachers(subject, Loss.NEXT_TOKEN):
        learnt = _learnt(subject.batch) != IGNORED
        both_BT = learnt[:, 1:-1] & learnt[:, 2:]  # behind the last token a teacher says anything
        with evaluated(subject.model), evaluated(teacher):
            said = outputs_of(subject.model, subject.batch).argmax(-1).cpu()
            meant = outputs_of(teacher, subject.batch).argmax(-1).cpu()
        student, here, next_one = (
            said[:, :-2][both_BT],
            meant[:, :-2][both_BT],
            meant[:, 1:-1][both_BT],
        )
        in_place, moved = (float((student == one).double().mean()) for one in (here, next_one))
        if len(student) < FEWEST or moved < AGREES or in_place > moved / 2:
            continue
        sheet.find(
            "labels_shifted",
            MEASURED,
            f"of {len(student)} next tokens that the student says, {in_place:.0%} are what {name} "
            f"says at the same position, and {moved:.0%} what it says one position on",
            place=f"the loss against {name}: which positions of its logits are taken",
            why="the teacher's logits stand one position off: the student learns the token after "
            "the next one",
            advice="compare the logits of student and teacher at the same positions: both "
            "[:, :-1], where the labels are [:, 1:]",
        )


def _is_copy(teacher: nn.Module, model: nn.Module) -> bool:
    """Whether a teacher begins with the weights of its student, as an average of them does."""
    own = dict(model.named_parameters())
    return all(
        name in own and one.shape == own[name].shape and torch.equal(one, own[name].to(one.device))
        for name, one in teacher.named_parameters()
    )


def _teachers(subject: Subject, *kinds: Loss) -> list[tuple[str, nn.Module]]:
    """Models of these kinds that the Trainer holds as its teacher, where rows are there to ask."""
    held = subject.held_models.items() if has_ids(subject.batch) else ()
    return [(n, one) for n, one in held if _NAMED.search(n) and head_of(one) in kinds]


def _guess(model: nn.Module, batch: dict[str, Tensor]) -> tuple[float, int, str]:
    """What tells whether a model guesses, in nats, the number of things to guess among, its name.

    Of a language model the loss per token of rows (B, T) on what is learnt of them; of a
    classifier the entropy of what it says of them.
    """
    if head_of(model) is not Loss.ROWS:
        return *_nats(model, batch), "its loss per token"
    with evaluated(model):
        logits_BC = outputs_of(model, batch)
    entropy = torch.distributions.Categorical(logits=logits_BC.double()).entropy().mean()
    return float(entropy), logits_BC.shape[-1], "the entropy of what it says"


def _nats(model: nn.Module, batch: dict[str, Tensor]) -> tuple[float, int]:
    """The loss per token of rows (B, T) on what is learnt of them, and the size V of a guess."""
    with evaluated(model):
        logits_TV = outputs_of(model, batch)[:, :-1].flatten(0, 1)
    targets_T = _learnt(batch)[:, 1:].flatten().to(logits_TV.device)
    return float(nn.functional.cross_entropy(logits_TV, targets_T)), logits_TV.shape[-1]


def _learnt(batch: dict[str, Tensor]) -> Tensor:
    """The labels of rows (B, T); those without are learnt whole, but for what the mask hides."""
    ids, labels = batch["input_ids"], batch.get("labels")
    if isinstance(labels, Tensor) and labels.shape == ids.shape:
        return labels.cpu()
    return ids.masked_fill(batch.get("attention_mask", torch.ones_like(ids)) == 0, IGNORED).cpu()
