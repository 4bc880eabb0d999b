"""Looks at targets that are numbers or tags: classes as amounts, amounts too large, tags moved."""

from collections import Counter
from itertools import groupby
from statistics import fmean, pstdev
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.data_sets import column, labels_of
from course_utils.diagnostics.diagnosis.measures.forward import has_ids
from course_utils.diagnostics.diagnosis.measures.labels_used import has_own_forward
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, Loss, speaks_for

FEWEST = 16  # rows
MANY = 256  # tags
BETTER, FEWER = 0.03, 0.6  # how much more the token beside must tell; of the errors that are left
OWN = 1 / 3  # of what the token beside tells above the commonest tag; above it the own tells too
MOST_ROWS, HALF, SLIPPED = 512, 0.5, 0.9  # rows that are read; that have tokens without a tag
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
    if len(set(values)) == 1:
        said = f"the target of all {len(values)} rows is {values[0]:g}"
        sheet.find("labels_constant", COUNTED, said, place="train_dataset, the column of labels")
        return
    mean, spread = fmean(values), pstdev(values)
    said = f"the targets have mean {mean:.3g} and deviation {spread:.3g}"
    if set(values) == {0, 1}:
        said = f"num_labels is 1, and the labels of all {len(values)} rows are 0 and 1"
        sheet.find("classes_as_numbers", LIKELY, said, place="num_labels, problem_type")
    elif (mean**2 + spread**2) ** 0.5 > LARGE and not has_own_forward(subject.model):
        sheet.find("targets_unscaled", LIKELY, said, place="train_dataset, the column of labels")
    else:
        sheet.show("targets", said)


@speaks_for(Loss.TAGS)
def look_at_tags(subject: Subject, sheet: Sheet) -> None:
    """Special tokens belong to no word: a tag of a word on them was laid there by position.

    Where no other token has a tag, they are the places that are asked, such as ends of sentences.
    """
    with sheet.trying("the tags of all rows"):
        _tags_of_all(subject, sheet)
    labels = (subject.batch or {}).get("labels")
    if not has_ids(subject.batch) or subject.tokenizer is None or not isinstance(labels, Tensor):
        return
    ids = subject.batch["input_ids"]
    if labels.shape != ids.shape:
        return
    special = torch.isin(ids, torch.tensor(_of_no_word(subject.tokenizer)))
    has_tag = labels != IGNORED
    tagged = labels[special & has_tag]
    usual = labels[has_tag].mode().values if bool(has_tag.any()) else 0
    wrong = int((tagged != usual).sum()) if bool((has_tag & ~special).any()) else 0
    said = f"{len(tagged)} of {int(special.sum())} special tokens have a tag"
    if wrong:
        said = f"{said}, {wrong} of them one that is not the most frequent"
        sheet.find("tags_misplaced", COUNTED, said, place="labels")
    else:
        sheet.show("tags of special tokens", said)


def _tags_of_all(subject: Subject, sheet: Sheet) -> None:
    """One tag everywhere; and tags that the token beside theirs tells better than their own."""
    data = getattr(subject.trainer, "train_dataset", None)
    rows = list(zip(column(data, "input_ids"), column(data, "labels"), strict=False))
    rows = [(ids, tags) for ids, tags in rows if len(ids) == len(tags)]
    used = Counter(tag for _, tags in rows for tag in tags if tag != IGNORED)
    if len(rows) < FEWEST or used.total() < MANY:
        return
    if subject.tokenizer is not None and _slipped(rows, subject.tokenizer, sheet):
        return
    if len(used) == 1:
        said = f"all {used.total()} tags of {len(rows)} rows are {next(iter(used))}"
        sheet.find("labels_constant", COUNTED, said, place="train_dataset, the column of labels")
        return
    pairs = (pair for ids, tags in rows for pair in zip(ids, tags, strict=True))
    if len({token for token, tag in pairs if tag != IGNORED}) < len(used):
        return  # tokens that mark places, such as ends of sentences, tell no tag themselves
    told = {by: _told(rows, by) for by in (-1, 0, 1)}
    best, usual = max(told, key=told.get), max(used.values()) / used.total()
    if told[0] - usual > OWN * (told[best] - usual):
        return  # as in a healthy run whose tags depend on "to" or "from" before them
    if best and told[best] > told[0] + BETTER and 1 - told[best] < FEWER * (1 - told[0]):
        beside = "before" if best < 0 else "behind"
        said = f"the token {beside} a tag's own tells {told[best]:.0%} of the tags, its own "
        said += f"{told[0]:.0%}; the most frequent tag is {usual:.0%}"
        why = "the tags stand one token beside the tokens that they belong to"
        sheet.find("tags_misplaced", MEASURED, said, place="labels", why=why)


def _slipped(rows: list, tokenizer: Any, sheet: Sheet) -> bool:
    """Tags of words on the first tokens of a row one by one, where words were split in pieces.

    A scheme that tags the first piece of each word, or all of them, leaves the last word a tag.
    """
    special = set(_of_no_word(tokenizer))
    split = slipped = whole = 0
    for ids, tags in rows[:MOST_ROWS]:
        tagged = _where_tagged(ids, tags, special)
        if all(tagged) or not any(tagged):
            continue
        split += 1
        slipped += tagged == sorted(tagged, reverse=True)  # then none behind the first without one
        whole += sum(tag != IGNORED for tag in tags) == len(tagged)
    if split < max(FEWEST, HALF * len(rows[:MOST_ROWS])) or slipped < SLIPPED * split:
        return False
    said = (
        f"{slipped} of {split} rows have a tag on each of their first tokens, and none on the last"
    )
    why = "the tags of words were laid on tokens one by one: behind the first split word each tag "
    why += "belongs to a token before its own"
    if whole == split:  # as many tags as tokens of words
        why = "the tags begin at the first token, which is a special one: each belongs to the "
        why += "token before its own"
    advice = "tags[word] for each of encoding.word_ids(), and -100 where that is None"
    sheet.find("tags_misplaced", COUNTED, said, place="labels", why=why, advice=advice)
    return True


def _where_tagged(ids: list[int], tags: list[int], special: set[int]) -> list[bool]:
    """For each token of a word whether it has a tag; a part without any, as a context, is left out.

    >>> _where_tagged([0, 5, 6, 0, 7, 8], [-100, 2, -100, -100, -100, -100], {0})
    [True, False]
    """
    parts = groupby(zip(ids, tags, strict=True), key=lambda pair: pair[0] in special)
    of_words = [[tag != IGNORED for _, tag in part] for is_special, part in parts if not is_special]
    return [one for part in of_words if any(part) for one in part]


def _of_no_word(tokenizer: Any) -> list[int]:
    """Ids of special tokens; the one for what the vocabulary lacks stands for a word."""
    return [one for one in tokenizer.all_special_ids if one != tokenizer.unk_token_id]


def _told(rows: list[tuple[list[int], list[int]]], by: int) -> float:
    """How many tags are the commonest one of the token `by` places on: made on half, counted on
    the other."""
    seen: dict[int, Counter] = {}
    right = whole = 0
    for number, (ids, tags) in enumerate(rows):
        for at, tag in enumerate(tags):
            if tag == IGNORED or not 0 <= at + by < len(ids):
                continue
            token = ids[at + by]
            if number % 2:
                whole += 1
                right += token in seen and seen[token].most_common(1)[0][0] == tag
            else:
                seen.setdefault(token, Counter())[tag] += 1
    return right / whole if whole else 0.0


@speaks_for(Loss.ROWS)
def look_at_answers_of_several(subject: Subject, sheet: Sheet) -> None:
    """Labels of several numbers per row, of which no column ever differs."""
    rows = column(getattr(subject.trainer, "train_dataset", None), "labels")
    rows = [tuple(row) for row in rows if isinstance(row, list)]
    if len(rows) >= FEWEST and len(set(rows)) == 1 and len(rows[0]) > 1:
        said = f"the labels of all {len(rows)} rows are {list(rows[0])[:6]}"
        sheet.find("labels_constant", COUNTED, said, place="train_dataset, the column of labels")
