"""Judges what the optimizers hold: weights that none of them has, a teacher's among the rest."""

import re

from torch import nn

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.gradient_flow.report import same_layers

ENOUGH = 8  # steps
_TEACHER = re.compile(r"^(?:.*\.)?(?:teacher|reference|ref)(?:_model)?(?=\.)")


def judge_held(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    _held_by_none(subject, steps, sheet)
    _teacher_moves(subject, steps, sheet)


def _held_by_none(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    """Weights that became trainable behind the making of the optimizer, which so lacks them."""
    held, trained = steps.ever_held, subject.trainable()
    never = [name for name in trained if steps.unheld[name] >= ENOUGH and name not in held]
    if not never:
        return
    said = f"{len(never)} of {len(trained)} trainable tensors had a gradient in up to "
    said += f"{max(steps.unheld[name] for name in never)} steps, and no optimizer holds them"
    sheet.find(
        "optimizer_holds_others",
        COUNTED if len(never) >= len(trained) / 2 else MEASURED,
        said,
        f"the first is {never[0]}",
        place=same_layers(never[0]),
        why="weights that are to learn are not among the optimizer's parameters, so no step "
        "reaches them: its groups leave them out by their names, or they were frozen when it was "
        "made",
        advice="give every trainable weight to a group (count them against requires_grad); make "
        "the optimizer while they are trainable, or optimizer.add_param_group when they are "
        "unfrozen",
    )


def _teacher_moves(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    """A teacher that is a part of the model is stepped as its other parts are, unless frozen."""
    found = {n: _TEACHER.match(n) for n, count in steps.moved.items() if count >= ENOUGH}
    moved = {n: match[0] for n, match in found.items() if match}
    teachers = [name for name in dict.fromkeys(moved.values()) if _is_a_model(subject, name)]
    if not teachers:
        return
    name, *_ = teachers
    counts = [steps.moved[one] for one, whose in moved.items() if whose == name]
    sheet.find(
        "reference_moves",
        COUNTED,
        f"{len(counts)} tensors of {name}, which is a part of the model, have moved in up to "
        f"{max(counts)} of {steps.num_steps} steps",
        place=name,
        why="the reference (or teacher) is trained with the model: it does not stand still",
        advice=f"model.{name}.requires_grad_(False) before the optimizer is made, and its forward "
        "pass under torch.no_grad()",
    )


def _is_a_model(subject: Subject, name: str) -> bool:
    """Whether that part is a model which others are compared with.

    An adapter of that name is a single matrix. What is called a reference may also be an encoder
    of one (a recording, an image), which is to learn: no other part has its form.
    """
    part = subject.model.get_submodule(name)
    has_layers = next(part.children(), None) is not None
    return has_layers and ("teacher" in name or _has_a_twin(subject.model, part))


def _has_a_twin(model: nn.Module, part: nn.Module) -> bool:
    """Whether another part of the model, or all the rest of it, has weights of the same shapes."""
    own = {id(p) for p in part.parameters()}
    others = [list(one.parameters()) for one in model.modules()]
    others = [rest for rest in others if own.isdisjoint(map(id, rest))]
    others.append([p for p in model.parameters() if id(p) not in own])
    shapes = [p.shape for p in part.parameters()]
    return any([p.shape for p in rest] == shapes for rest in others)
