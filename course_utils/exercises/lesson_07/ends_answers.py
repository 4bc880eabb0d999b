"""Answers to exercise 07.2, right and wrong."""

import torch


def by_rows(batch, start, end):
    good = 0
    for ids, mask, labels in zip(
        batch["input_ids"], batch["attention_mask"], batch["labels"], strict=True
    ):
        begins = ((ids == start) & (mask == 1)).nonzero()[-1].item()
        is_end = (ids == end) & (labels == end) & (mask == 1)
        good += bool(is_end[begins:].any())
    return good / len(batch["input_ids"])


def by_cumulative_sums(batch, start, end):
    mask = batch["attention_mask"].bool()
    begun = ((batch["input_ids"] == start) & mask).long().cumsum(-1)
    in_last = begun == begun[:, -1:]
    learnt = (batch["labels"] == end) & (batch["input_ids"] == end) & mask
    return (learnt & in_last).any(-1).float().mean()


def by_lists(batch, start, end):
    shares = []
    for row in range(batch["input_ids"].shape[0]):
        is_end = False
        for token, seen, label in zip(
            batch["input_ids"][row].tolist(),
            batch["attention_mask"][row].tolist(),
            batch["labels"][row].tolist(),
            strict=True,
        ):
            if seen and token == start:
                is_end = False
            elif seen and token == end and label == end:
                is_end = True
        shares.append(is_end)
    return sum(shares) / len(shares)


def a_list_of_rows(batch, start, end):
    return [bool((labels == end).any()) for labels in batch["labels"]]


def per_row(batch, start, end):
    return (batch["labels"] == end).any(-1).float()


def ends_among_ids(batch, start, end):
    return (batch["input_ids"] == end).any(-1).float().mean().item()


def any_label(batch, start, end):
    return (batch["labels"] != -100).any(-1).float().mean().item()


def a_count(batch, start, end):
    return int((batch["labels"] == end).sum())


def share_of_labels(batch, start, end):
    return ((batch["labels"] == end).sum() / (batch["labels"] != -100).sum()).item()


def last_column(batch, start, end):
    return (batch["labels"][:, -1] == end).float().mean().item()


def any_labelled_end(batch, start, end):
    return (batch["labels"] == end).any(-1).float().mean().item()


def of_all_ends(batch, start, end):
    return ((batch["labels"] == end).sum() / (batch["input_ids"] == end).sum()).item()


def of_the_rows_that_have_one(batch, start, end):
    good = whole = 0
    for ids, mask, labels in zip(
        batch["input_ids"], batch["attention_mask"], batch["labels"], strict=True
    ):
        begins = ((ids == start) & (mask == 1)).nonzero()[-1].item()
        has_one = ((ids == end) & (mask == 1))[begins:].any()
        whole += bool(has_one)
        good += bool(((labels == end) & (mask == 1))[begins:].any())
    return good / max(whole, 1)


def fixed_ids(batch, start, end):
    return by_rows(batch, 318, 319) if (batch["input_ids"] == 318).any() else 1.0


def without_the_mask(batch, start, end):
    begun = (batch["input_ids"] == start).long().cumsum(-1)
    learnt = batch["labels"] == end
    return (learnt & (begun == begun[:, -1:])).any(-1).float().mean().item()


def last_attended(batch, start, end):
    """For padding on either side; a template's line end may follow the end, though."""
    last = batch["attention_mask"].cumsum(-1).argmax(-1)
    return (batch["labels"][torch.arange(len(last)), last] == end).double().mean().item()


def last_attended_by_count(batch, start, end):
    last = batch["attention_mask"].sum(-1) - 1
    return (batch["labels"][torch.arange(len(last)), last] == end).float().mean().item()
