"""Looks at the labels of all rows: one label everywhere, an evaluation that lacks classes."""

from collections import Counter
from typing import Any

from course_utils.diagnostics.diagnosis.looks.split import has_labels
from course_utils.diagnostics.diagnosis.measures.data_sets import column, columns_of
from course_utils.diagnostics.diagnosis.measures.labels_used import (
    has_own_forward,
    labels_are_targets,
)
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import REPLIES, Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

DATA = ("train_dataset", "eval_dataset")
COLUMNS = ("label", "labels")
MOST, FEWEST = 4096, 16  # rows that are read, at even distances; and below which nothing is said
CHANCE = 1e-3  # with which rows drawn at random would lack the class
SHOWN = 6


@speaks_for(Loss.ROWS, Loss.REPLIES)
def look_at_classes(subject: Subject, sheet: Sheet) -> None:
    """Count the labels of the data sets, where they are whole numbers or yes and no."""
    trainer = subject.trainer
    learnt, tested = (_labels(getattr(trainer, name, None)) for name in DATA)
    if learnt.total() < FEWEST:
        return
    if len(learnt) > 1:
        sheet.clear("labels of all rows", _said(learnt))
    elif subject.kind == REPLIES:
        _one_thumb(learnt, sheet)
    elif _are_learnt(subject):
        said = f"{_said(learnt)}, and no other"
        sheet.find("labels_constant", COUNTED, said, place="train_dataset, the column of labels")
    else:
        sheet.show("labels of all rows", f"{_said(learnt)}, and no loss has them as its target")
    if len(learnt) > 1 and tested.total() >= FEWEST:
        _evaluated(learnt, tested, sheet)


def _are_learnt(subject: Subject) -> bool:
    """Whether the labels are the target of the loss: one of the user's own may have another."""
    if not subject.has_own_loss and not has_own_forward(subject.model):
        return True
    return has_labels(subject.batch) and labels_are_targets(subject)


@speaks_for(Loss.ROWS)
def look_at_class_numbers(subject: Subject, sheet: Sheet) -> None:
    """The labels of all rows beside the number of classes of the model.

    A loss of the user's own may count thresholds: K - 1 of them part the levels 0 to K - 1.
    """
    labels = _labels(getattr(subject.trainer, "train_dataset", None))
    thresholds = getattr(getattr(subject.model, "config", None), "num_labels", 0)
    if subject.has_own_loss and set(labels) == set(range(thresholds + 1)):
        return
    judge_class_numbers(labels, subject.model, sheet)


def judge_class_numbers(labels: Counter, model: Any, sheet: Sheet) -> None:
    """Labels that begin at 1, or that go beyond the classes of the model.

    A forward pass of the user's own may have another head than its configuration says.
    """
    if has_own_forward(model):
        return
    config = getattr(model, "config", None)
    number, kind = getattr(config, "num_labels", 0), getattr(config, "problem_type", None)
    counted = [label for label in labels if label >= 0]
    is_of_choices = any("MultipleChoice" in base.__name__ for base in type(model).__mro__)
    is_of_classes = kind in (None, "single_label_classification") and not is_of_choices
    if labels.total() < FEWEST or number < 2 or not counted or not is_of_classes:
        return
    least, most = min(counted), max(counted)
    if most < number:
        return
    said = (
        f"the labels go from {least} to {most}; the model has {number} classes, 0 to {number - 1}"
    )
    if least == 1 and most == number:
        why = "the labels begin at 1, and those of the model at 0: they were not moved"
        advice = f"subtract 1 from each label, in both splits; num_labels={number} is right"
    else:
        why = f"num_labels is {number}, and the labels need {most + 1}"
        advice = f"num_labels={most + 1}, or number the labels from 0 to {number - 1}"
    place = "labels, num_labels"
    sheet.find("label_outside", COUNTED + 1, said, place=place, why=why, advice=advice)


def _one_thumb(learnt: Counter, sheet: Sheet) -> None:
    """Single replies of which all are good, or all bad."""
    [[label, count]] = learnt.items()
    never = "pushed down" if label else "raised"
    sheet.find(
        "labels_constant",
        COUNTED,
        f"label is {bool(label)} in all {count} rows that were read",
        place="train_dataset, column 'label'",
        why=f"every reply is marked as {'desirable' if label else 'undesirable'}, so that none is "
        f"ever {never}",
        advice="read the marks by their words, label == 'True' (bool('False') is True); or add "
        f"replies that are to be {never}",
    )


def _evaluated(learnt: Counter, tested: Counter, sheet: Sheet) -> None:
    """Rows drawn at random would hold every class that is not rare in training."""
    whole, size = learnt.total(), tested.total()
    absent = [
        label
        for label, count in learnt.items()
        if label not in tested and (1 - count / whole) ** size < CHANCE
    ]
    if not absent:
        sheet.clear("labels of the evaluation", _said(tested))
        return
    said = f"the rows that are evaluated have {_said(tested)}; those of training {_said(learnt)}"
    if len(absent) < len(learnt) / 2:  # a split may be made so
        sheet.show("labels of the evaluation", said, usual=False)
        return
    sheet.find(
        "evaluation_lacks_classes",
        COUNTED,
        said,
        place="eval_dataset",
        why="every row that is evaluated has one and the same label: a model that always says it "
        "scores best"
        if len(tested) == 1
        else f"the rows that are evaluated lack {len(absent)} of {len(learnt)} classes",
    )


def _labels(data: Any) -> Counter:
    """How often each label stands in a data set of columns; empty where it is no whole number."""
    name = next((one for one in COLUMNS if one in columns_of(data)), "")
    values = column(data, name, MOST)
    return Counter(values) if all(isinstance(value, int) for value in values) else Counter()


def _said(labels: Counter) -> str:
    """The labels with their numbers of rows, the most frequent first."""
    few = ", ".join(f"{label!r} {count} times" for label, count in labels.most_common(SHOWN))
    return f"{len(labels)} label{'s' * (len(labels) > 1)}: {few}{' ...' * (len(labels) > SHOWN)}"
