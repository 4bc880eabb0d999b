"""Right and wrong answers of exercise 07.3."""

import torch
from torch.nn.utils.rnn import pad_sequence

from course_utils.exercises.lesson_07 import collate
from course_utils.exercises.lesson_07.collate import by_lengths
from course_utils.reproductions.lesson_07.batches import on_the_left
from tests.answers import answers_of

right, wrong = answers_of(collate.COLLATE)

KEYS = ("input_ids", "labels")


@right
def with_pad_sequence(rows, pad):
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    ones = [torch.ones_like(row) for row in ids]
    return {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=pad),
        "attention_mask": pad_sequence(ones, batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=-100),
    }


@right
def into_full_tensors(rows, pad):
    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    shape = (len(rows), int(lengths.max()))
    ids, labels = torch.full(shape, pad), torch.full(shape, -100)
    for number, row in enumerate(rows):
        ids[number, : len(row["input_ids"])] = torch.tensor(row["input_ids"])
        labels[number, : len(row["labels"])] = torch.tensor(row["labels"])
    mask = torch.arange(shape[1])[None] < lengths[:, None]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@wrong(caught_by=collate.is_a_batch)
def two_tensors(rows, pad):
    batch = by_lengths(rows, pad)
    return batch["input_ids"], batch["labels"]


@wrong(caught_by=collate.is_a_batch)
def lists(rows, pad):
    return {key: value.tolist() for key, value in by_lengths(rows, pad).items()}


@wrong(caught_by=collate.is_a_batch)
def a_fixed_width(rows, pad):
    batch, more = by_lengths(rows, pad), (0, 32)
    fill = {"input_ids": pad, "attention_mask": 0, "labels": -100}
    return {k: torch.nn.functional.pad(v, more, value=fill[k]) for k, v in batch.items()}


@wrong(caught_by=collate.is_a_batch)
def floats(rows, pad):
    return {key: value.float() for key, value in by_lengths(rows, pad).items()}


@wrong(caught_by=collate.keeps_the_ids)
def padding_on_the_left(rows, pad):
    return on_the_left(by_lengths(rows, pad))


@wrong(caught_by=collate.keeps_the_ids)
def zeros_for_padding(rows, pad):
    return by_lengths(rows, 0)


@wrong(caught_by=collate.masks_padding_alone)
def mask_by_id(rows, pad):
    batch = by_lengths(rows, pad)
    return batch | {"attention_mask": (batch["input_ids"] != pad).long()}


@wrong(caught_by=collate.masks_padding_alone)
def mask_of_ones(rows, pad):
    batch = by_lengths(rows, pad)
    return batch | {"attention_mask": torch.ones_like(batch["input_ids"])}


@wrong(caught_by=collate.learns_no_padding)
def padding_learnt(rows, pad):
    batch = by_lengths(rows, pad)
    padding = batch["attention_mask"] == 0
    return batch | {"labels": batch["labels"].masked_fill(padding, pad)}


@wrong(caught_by=collate.keeps_the_labels)
def labels_by_id(rows, pad):
    batch = by_lengths(rows, pad)
    return batch | {"labels": batch["labels"].masked_fill(batch["labels"] == pad, -100)}


@wrong(caught_by=collate.keeps_the_labels)
def first_end_only(rows, pad):
    """The first pad id of a row is kept, which is the user's end; the reply's goes."""
    batch = by_lengths(rows, pad)
    later = (batch["input_ids"] == pad).long().cumsum(-1) > 1
    return batch | {"labels": batch["labels"].masked_fill(later, -100)}


@wrong(caught_by=collate.keeps_the_labels)
def moved_by_hand(rows, pad):
    batch = by_lengths(rows, pad)
    end = torch.full((len(rows), 1), -100)
    return batch | {"labels": torch.cat([batch["labels"][:, 1:], end], dim=-1)}


@wrong(caught_by=collate.keeps_the_labels)
def ids_as_labels(rows, pad):
    batch = by_lengths(rows, pad)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch | {"labels": labels}


@wrong(caught_by=collate.keeps_the_labels)
def ends_of_the_user_too(rows, pad):
    batch = by_lengths(rows, pad)
    is_end = (batch["input_ids"] == pad) & (batch["attention_mask"] == 1)
    return batch | {"labels": torch.where(is_end, pad, batch["labels"])}


@wrong(caught_by=collate.stops_and_is_right)
def cut_at_fourteen(rows, pad):
    """Rows are cut, as a short max_length does it; the check's small rows fit."""
    return by_lengths([{k: v[:14] for k, v in row.items() if k in KEYS} for row in rows], pad)


@wrong(caught_by=collate.stops_and_is_right)
def by_id_in_large_batches(rows, pad):
    return labels_by_id(rows, pad) if len(rows) > 4 else by_lengths(rows, pad)
