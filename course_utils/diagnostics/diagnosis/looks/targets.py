"""Looks at targets that are numbers or tags: classes as amounts, amounts too large, tags moved."""

from statistics import fmean, pstdev

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.data_sets import labels_of
from course_utils.diagnostics.diagnosis.measures.forward import has_ids
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, Loss, speaks_for

FEWEST = 16  # rows
LARGE = 1000.0  # rms of the targets: a new head gives numbers near 0


@speaks_for(Loss.ROWS)
def look_at_numbers(subject: Subject, sheet: Sheet) -> None:
    """Of a model with one output: two whole numbers are classes, thousands are far away."""
    config = getattr(subject.model, "config", None)
    values = labels_of(getattr(subject.trainer, "train_dataset", None))
    asked = getattr(config, "problem_type", None)
    is_squared = getattr(config, "num_labels", None) == 1 and asked in (None, "regression")
    if subject.has_own_loss or not is_squared or len(values) < FEWEST:
        return
    mean, spread = fmean(values), pstdev(values)
    said = f"the targets have mean {mean:.3g} and deviation {spread:.3g}"
    if set(values) == {0, 1}:
        said = f"num_labels is 1, and the labels of all {len(values)} rows are 0 and 1"
        sheet.find("classes_as_numbers", LIKELY, said, place="num_labels, problem_type")
    elif (mean**2 + spread**2) ** 0.5 > LARGE:
        sheet.find("targets_unscaled", LIKELY, said, place="train_dataset, the column of labels")
    else:
        sheet.show("targets", said)


@speaks_for(Loss.TAGS)
def look_at_tags(subject: Subject, sheet: Sheet) -> None:
    """Special tokens belong to no word: a tag of a word on them was laid there by position."""
    labels = (subject.batch or {}).get("labels")
    if not has_ids(subject.batch) or subject.tokenizer is None or not isinstance(labels, Tensor):
        return
    ids = subject.batch["input_ids"]
    if labels.shape != ids.shape:
        return
    special = torch.isin(ids, torch.tensor(subject.tokenizer.all_special_ids))
    tagged = labels[special & (labels != IGNORED)]
    usual = labels[labels != IGNORED].mode().values if bool((labels != IGNORED).any()) else 0
    wrong = int((tagged != usual).sum())
    said = f"{len(tagged)} of {int(special.sum())} special tokens have a tag"
    if wrong:
        said = f"{said}, {wrong} of them one that is not the most frequent"
        sheet.find("tags_misplaced", COUNTED, said, place="labels")
    else:
        sheet.show("tags of special tokens", said)
