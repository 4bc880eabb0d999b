"""Right and wrong answers of exercise 07.6."""

import torch
from transformers import BatchEncoding
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from course_utils.exercises.lesson_07 import pack
from course_utils.exercises.lesson_07.pack import with_positions
from tests.answers import answers_of

right, wrong = answers_of(pack.PACK)


@right
def with_tensors(rows):
    ids = torch.cat([torch.tensor(row["input_ids"]) for row in rows])
    labels = torch.cat([torch.tensor(row["labels"]) for row in rows])
    positions = torch.cat([torch.arange(len(row["input_ids"])) for row in rows])
    labels = labels.masked_fill(positions == 0, -100)
    return {"input_ids": ids[None], "labels": labels[None], "position_ids": positions[None]}


@right
def with_a_block_mask(rows):
    batch = with_positions(rows)
    which = torch.cat([torch.full((len(r["input_ids"]),), n) for n, r in enumerate(rows)])
    same = which[:, None] == which[None]
    return batch | {"attention_mask": (same & torch.ones_like(same).tril())[None, None]}


@right
def with_an_encoding(rows):
    """What tokenizers return: a mapping that is no dict."""
    return BatchEncoding(with_tensors(rows))


@right
def with_trls_collator(rows):
    return DataCollatorForLanguageModeling(0, padding_free=True)(rows)


@wrong(caught_by=pack.is_one_sequence)
def a_padded_batch(rows):
    width = max(len(row["input_ids"]) for row in rows) + 1
    padded = {
        "input_ids": [r["input_ids"] + [0] * (width - len(r["input_ids"])) for r in rows],
        "labels": [r["labels"] + [-100] * (width - len(r["labels"])) for r in rows],
    }
    return {key: torch.tensor(value) for key, value in padded.items()}


@wrong(caught_by=pack.is_one_sequence)
def lists(rows):
    return {key: value.tolist() for key, value in with_positions(rows).items()}


@wrong(caught_by=pack.is_one_sequence)
def without_labels(rows):
    batch = with_positions(rows)
    return {key: batch[key] for key in ("input_ids", "position_ids")}


@wrong(caught_by=pack.is_one_sequence)
def with_lengths(rows):
    return with_positions(rows) | {"seq_lengths": [len(row["input_ids"]) for row in rows]}


@wrong(caught_by=pack.keeps_the_order)
def the_other_way_round(rows):
    flipped = {key: value.flip(-1) for key, value in with_positions(rows).items()}
    return flipped


@wrong(caught_by=pack.sees_one_document)
def nothing_but_ids(rows):
    batch = with_positions(rows)
    return {key: batch[key] for key in ("input_ids", "labels")}


@wrong(caught_by=pack.sees_one_document)
def positions_run_on(rows):
    batch = with_positions(rows)
    return batch | {"position_ids": torch.arange(batch["input_ids"].shape[1])[None]}


@wrong(caught_by=pack.sees_one_document)
def with_a_mask_of_ones(rows):
    batch = with_positions(rows)
    return batch | {"attention_mask": torch.ones_like(batch["input_ids"])}


@wrong(caught_by=pack.sees_one_document)
def mask_with_row_numbers(rows):
    batch = with_positions(rows)
    which = torch.cat([torch.full((len(r["input_ids"]),), n + 1) for n, r in enumerate(rows)])
    return batch | {"attention_mask": which[None]}


@wrong(caught_by=pack.sees_one_document)
def positions_from_one(rows):
    batch = with_positions(rows)
    width = batch["input_ids"].shape[1]
    return batch | {"position_ids": torch.arange(1, width + 1)[None]}


@wrong(caught_by=pack.has_the_same_loss)
def labels_across(rows):
    batch = with_positions(rows)
    labels = [label for row in rows for label in row["labels"]]
    return batch | {"labels": torch.tensor([labels])}


@wrong(caught_by=pack.has_the_same_loss)
def labels_moved(rows):
    batch = with_positions(rows)
    return batch | {"labels": batch["labels"].roll(-1, dims=-1)}


@wrong(caught_by=pack.has_the_same_loss)
def everything_learnt(rows):
    batch = with_positions(rows)
    learnt = batch["input_ids"].masked_fill(batch["position_ids"] == 0, -100)
    return batch | {"labels": torch.where(learnt == batch["labels"], learnt, learnt)}
