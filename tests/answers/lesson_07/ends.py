"""Right and wrong answers of exercise 07.2."""

import torch

from course_utils.exercises.lesson_07 import ends
from course_utils.exercises.lesson_07.ends import by_rows
from tests.answers import answers_of

right, wrong = answers_of(ends.ENDS)


@right
def by_cumulative_sums(batch, start, end):
    mask = batch["attention_mask"].bool()
    begun = ((batch["input_ids"] == start) & mask).long().cumsum(-1)
    in_last = begun == begun[:, -1:]
    learnt = (batch["labels"] == end) & (batch["input_ids"] == end) & mask
    return (learnt & in_last).any(-1).float().mean()


@right
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


@wrong(caught_by=ends.gives_a_number)
def a_list_of_rows(batch, start, end):
    return [bool((labels == end).any()) for labels in batch["labels"]]


@wrong(caught_by=ends.gives_a_number)
def per_row(batch, start, end):
    return (batch["labels"] == end).any(-1).float()


@wrong(caught_by=ends.counts_labelled_ends)
def ends_among_ids(batch, start, end):
    return (batch["input_ids"] == end).any(-1).float().mean().item()


@wrong(caught_by=ends.counts_labelled_ends)
def any_label(batch, start, end):
    return (batch["labels"] != -100).any(-1).float().mean().item()


@wrong(caught_by=ends.gives_a_number)
def a_count(batch, start, end):
    return int((batch["labels"] == end).sum())


@wrong(caught_by=ends.counts_labelled_ends)
def share_of_labels(batch, start, end):
    return ((batch["labels"] == end).sum() / (batch["labels"] != -100).sum()).item()


@wrong(caught_by=ends.counts_labelled_ends)
def last_column(batch, start, end):
    return (batch["labels"][:, -1] == end).float().mean().item()


@wrong(caught_by=ends.leaves_out_the_users_ends)
def any_labelled_end(batch, start, end):
    return (batch["labels"] == end).any(-1).float().mean().item()


@wrong(caught_by=ends.counts_labelled_ends)
def of_all_ends(batch, start, end):
    return ((batch["labels"] == end).sum() / (batch["input_ids"] == end).sum()).item()


@wrong(caught_by=ends.counts_rows_without_an_end)
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


@wrong(caught_by=ends.gives_a_number)
def a_percentage(batch, start, end):
    return 100 * by_rows(batch, start, end)


def _after_the_start(batch, start):
    """Ids, mask and labels of each row from its last start on."""
    for row in zip(batch["input_ids"], batch["attention_mask"], batch["labels"], strict=True):
        begins = ((row[0] == start) & (row[1] == 1)).nonzero()[-1].item()
        yield tuple(part[begins:] for part in row)


@wrong(caught_by=ends.counts_labelled_ends)
def any_label_at_the_end(batch, start, end):
    rows = [(i == end) & (m == 1) & (la != -100) for i, m, la in _after_the_start(batch, start)]
    return sum(bool(row.any()) for row in rows) / len(rows)


@wrong(caught_by=ends.leaves_out_the_users_ends)
def start_among_the_labels(batch, start, end):
    good = 0
    for mask, labels in zip(batch["attention_mask"], batch["labels"], strict=True):
        starts = (labels == start).nonzero()
        begins = starts[-1].item() if len(starts) else 0
        good += bool(((labels == end) & (mask == 1))[begins:].any())
    return good / len(batch["labels"])


@wrong(caught_by=ends.looks_at_every_end)
def counts_both_ends(batch, start, end):
    rows = [(i == end) & (la == end) & (m == 1) for i, m, la in _after_the_start(batch, start)]
    return sum(int(row.sum()) for row in rows) / len(rows)


@wrong(caught_by=ends.looks_at_every_end)
def first_end_only(batch, start, end):
    good = 0
    for ids, mask, labels in _after_the_start(batch, start):
        ends_at = ((ids == end) & (mask == 1)).nonzero()
        good += bool(len(ends_at) and labels[ends_at[0].item()] == end)
    return good / len(batch["labels"])


@wrong(caught_by=ends.works_elsewhere)
def fixed_ids(batch, start, end):
    return by_rows(batch, 318, 319) if (batch["input_ids"] == 318).any() else 1.0


@wrong(caught_by=ends.works_elsewhere)
def without_the_mask(batch, start, end):
    begun = (batch["input_ids"] == start).long().cumsum(-1)
    learnt = batch["labels"] == end
    return (learnt & (begun == begun[:, -1:])).any(-1).float().mean().item()


@wrong(caught_by=ends.looks_at_every_end)
def last_attended(batch, start, end):
    """For padding on either side; a template's line end may follow the end, though."""
    last = batch["attention_mask"].cumsum(-1).argmax(-1)
    return (batch["labels"][torch.arange(len(last)), last] == end).double().mean().item()


@wrong(caught_by=ends.works_elsewhere)
def last_attended_by_count(batch, start, end):
    last = batch["attention_mask"].sum(-1) - 1
    return (batch["labels"][torch.arange(len(last)), last] == end).float().mean().item()


@wrong(caught_by=ends.leaves_out_the_users_ends)
def from_the_last_start_of_row_0(batch, start, end):
    """One place for all rows."""
    begins = (batch["input_ids"][0] == start).nonzero().max()
    is_end = (batch["input_ids"] == end) & (batch["labels"] == end)
    return is_end[:, begins:].any(-1).double().mean().item()


@wrong(caught_by=ends.leaves_out_the_users_ends)
def from_the_earliest_last_start(batch, start, end):
    begins = min(row.nonzero().max().item() for row in batch["input_ids"] == start)
    is_end = (batch["input_ids"] == end) & (batch["labels"] == end)
    return is_end[:, begins:].any(-1).double().mean().item()


@wrong(caught_by=ends.looks_at_every_end)
def labels_alone(batch, start, end):
    """Never reads which token has the label."""
    rows = [(m == 1) & (la == end) for _, m, la in _after_the_start(batch, start)]
    return sum(bool(row.any()) for row in rows) / len(rows)


@wrong(caught_by=ends.looks_at_every_end)
def last_end_only(batch, start, end):
    good = 0
    for ids, mask, labels in _after_the_start(batch, start):
        ends_at = ((ids == end) & (mask == 1)).nonzero()
        good += bool(len(ends_at) and labels[ends_at[-1].item()] == end)
    return good / len(batch["labels"])
