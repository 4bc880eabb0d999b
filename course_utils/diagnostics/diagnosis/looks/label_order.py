"""Looks for labels that stand in another order than their rows, as after a sort of one of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from course_utils.diagnostics.diagnosis.measures.data_sets import LABELS, column, columns_of, ids_of
from course_utils.diagnostics.diagnosis.measures.forward import given_beside_ids
from course_utils.diagnostics.diagnosis.measures.word_counts import TOO_MANY, across_halves
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

FEWEST, MOST = 128, 20_000  # rows: an order is one of all of them
COUNTED = 1024  # rows whose words are counted
TELLS_NOTHING = 0.15  # more than the frequent label
TELLS, GAIN = 0.6, 0.3  # of the rows, once their order is put right


@speaks_for(Loss.ROWS)
def look_at_label_order(subject: Subject, sheet: Sheet) -> None:
    """Labels of which words tell nothing, and most once they are put in another order."""
    data = getattr(subject.trainer, "train_dataset", None)
    if not columns_of(data) or not FEWEST <= len(data) <= MOST or given_beside_ids(subject):
        return
    rows = ids_of(data, MOST)
    if not rows:
        return
    for name, labels in _classes(data):
        as_it_is = _right(rows, labels)
        if as_it_is > max(Counter(labels).values()) / len(labels) + TELLS_NOTHING:
            continue
        shares = {order: _right(rows, moved) for order, moved in _moved(rows, labels)}
        order = max(shares, key=shares.__getitem__)
        if shares[order] < max(TELLS, as_it_is + GAIN):
            continue
        sheet.find(
            "labels_uninformative",
            MEASURED,
            f"a count of words, made on half of the rows, gives {as_it_is:.0%} of the other "
            f"half's labels, and {shares[order]:.0%} if each label is taken for that of {order}",
            place=f"train_dataset, the column {name!r}",
            why=f"the labels stand in another order than the rows: each is the label of {order}",
            advice="put the labels back into the order of the rows before both are joined (after "
            "order = argsort(...): labels[argsort(order)]), or sort rows and labels together",
        )


def _classes(data: Any) -> Iterator[tuple[str, list[int]]]:
    """Columns that may be labels, with a class for each row: the largest of several numbers."""
    for name in columns_of(data):
        if not (name in LABELS or _are_soft(column(data, name, most=1))):
            continue
        values = column(data, name, MOST)
        if _are_soft(values):
            values = [max(range(len(one)), key=one.__getitem__) for one in values]
        elif not all(isinstance(one, int) for one in values):
            continue
        if 1 < len(set(values)) <= TOO_MANY:
            yield name, values


def _are_soft(values: list) -> bool:
    """Whether each row has as many numbers as any other: logits or probabilities of classes."""
    if not all(isinstance(one, list) and 1 < len(one) <= TOO_MANY for one in values):
        return False
    is_of_numbers = all(isinstance(number, float) for one in values for number in one)
    return is_of_numbers and len({len(one) for one in values}) == 1


def _moved(rows: Sequence, labels: Sequence[int]) -> Iterator[tuple[str, list[int]]]:
    """The labels as they would be if they had been written down in another order."""
    numbers = range(len(rows))
    sorted_rows = "the row that has its place once all are sorted by length"
    for said, order in (
        (sorted_rows, _by_length(rows)),
        (f"{sorted_rows}, longest first", _by_length(rows, reverse=True)),
        ("the row that has its place counted from the end", list(reversed(numbers))),
        ("the row before", [number - 1 for number in numbers]),
        ("the row behind", [(number + 1) % len(rows) for number in numbers]),
    ):
        moved = list(labels)
        for place, row in enumerate(order):
            moved[row] = labels[place]
        yield said, moved


def _by_length(rows: Sequence, *, reverse: bool = False) -> list[int]:
    return sorted(range(len(rows)), key=lambda row: len(rows[row]), reverse=reverse)


def _right(rows: Sequence, labels: Sequence[int]) -> float:
    step = -(-len(rows) // COUNTED)
    return across_halves(rows[::step], labels[::step])
