"""Looks at the rows of the data sets as a whole: alike, contradictory, in both splits, in order."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from inspect import unwrap
from itertools import chain
from types import CodeType
from typing import Any

from course_utils.diagnostics.batch_view.rows import unchanged
from course_utils.diagnostics.diagnosis.looks.row_order import judge_order
from course_utils.diagnostics.diagnosis.looks.settings import num_steps_of
from course_utils.diagnostics.diagnosis.measures.data_sets import (
    MOST,
    agreement,
    ids_of,
    inputs_of,
    labels_of,
)
from course_utils.diagnostics.diagnosis.measures.forward import given_beside_ids
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.libraries.datasets import left_out, num_before_filter
from course_utils.diagnostics.loss_kind import IGNORED, Loss

FEWEST = 16  # rows, below which nothing is said
MORE, EPOCHS = 4, 20  # times as many rows to evaluate; of a run on a handful of rows
MANY = 0.5  # of the rows
SLIGHT = 0.2  # agreement of the rows of one input: annotators who know a task agree more
LEAK = 0.1  # of the evaluation's rows
FEW = 0.02  # of the rows
NATURAL = 3  # times the share of rows that stand twice in training, and its standard errors
DROPPED = 0.1  # of the rows: more is no odd row


def look_at_all_rows(subject: Subject, sheet: Sheet) -> None:
    data = getattr(subject.trainer, "train_dataset", None)
    tested = getattr(subject.trainer, "eval_dataset", None)
    _changed(subject, data, sheet)
    _few(subject, data, tested, sheet)
    _left_out(subject, data, sheet)
    beside = given_beside_ids(subject)
    inputs = inputs_of(data, beside)
    if len(inputs) < FEWEST:
        return
    labels = labels_of(data) if subject.loss in (Loss.ROWS, Loss.REPLIES) else []
    if len(set(inputs)) == 1:
        _alike(subject, data, labels, sheet)
        return
    sheet.clear("rows that differ", f"{len(set(inputs))} of {len(inputs)}")
    if labels and len(labels) == len(inputs) and all(isinstance(one, int) for one in labels):
        _contradict(inputs, labels, sheet)
        _order(subject, labels, sheet)
    if subject.kind != POLICY and not isinstance(tested, dict):
        others = inputs_of(tested, beside)
        twice = max(_share_of_copies(inputs), _share_of_copies(others))
        _in_both(set(inputs), others, twice, sheet)
        if twice < FEW and subject.tokenizer is not None and not beside:
            _nearly_in_both(subject, ids_of(data), ids_of(tested), sheet)


def _changed(subject: Subject, data: Any, sheet: Sheet) -> None:
    """Rows that a data set hands out as they are, and that its collator writes into."""
    if not subject.changed_rows or not hasattr(data, "__getitem__"):
        return
    first, again = data[0], data[0]
    if not isinstance(first, dict) or first.get("input_ids") is not again.get("input_ids"):
        return  # each call makes another row
    said = f"the collator has changed the ids of {subject.changed_rows} of the first rows, and the "
    said += "data set hands out one and the same list each time"
    sheet.find("rows_changed_in_place", COUNTED, said, place=subject.batch_maker)


def _left_out(subject: Subject, data: Any, sheet: Sheet) -> None:
    """Rows that the trainer has dropped because max_length leaves nothing of them to learn."""
    limit = getattr(subject.args, "max_length", None)
    out = left_out(data, "labels", MOST)
    if not limit or not out or not all(isinstance(row, list) for row in out):
        return
    bare = [row for row in out if all(label == IGNORED for label in row)]
    if len(bare) < len(out) or max(map(len, bare)) > limit:
        return
    whole = num_before_filter(data)
    dropped = whole - len(data)
    said = f"{dropped} of {whole} rows are dropped: cut at max_length={limit}, they have no label"
    if dropped < DROPPED * whole:
        sheet.show("dropped rows", said)
        return
    sheet.find(
        "too_long",
        COUNTED,
        said,
        place=f"max_length={limit}",
        why="rows whose prompt fills max_length are dropped in silence, so only the short ones are "
        "learnt",
        advice="a max_length above the longest prompt with its reply",
    )


def _few(subject: Subject, data: Any, tested: Any, sheet: Sheet) -> None:
    """A handful of rows, many epochs of them, and far more rows to evaluate."""
    try:
        rows, others = len(data), len(tested)
    except TypeError:
        return
    if subject.loss is Loss.ROWS and _are_so_many_of_each(labels_of(data)):
        return
    args = subject.args
    epochs = num_steps_of(subject) * _rows_of_an_update(args) / max(rows, 1)
    if 0 < rows <= FEWEST and others >= MORE * rows and epochs >= EPOCHS:
        said = f"{rows} rows are read about {epochs:.0f} times, and {others} are evaluated"
        sheet.find("trial_rows", LIKELY, said, place="train_dataset")


def _are_so_many_of_each(labels: list) -> bool:
    """Whether each class has the same number of rows, as few-shot learning draws them.

    >>> _are_so_many_of_each([0, 1, 1, 0]), _are_so_many_of_each([0, 1, 1, 1])
    (True, False)
    """
    numbers = Counter(labels).values()
    return len(numbers) > 1 and min(numbers) == max(numbers) > 1


def _rows_of_an_update(args: Any) -> int:
    return args.train_batch_size * args.gradient_accumulation_steps * args.world_size


def _alike(subject: Subject, data: Any, labels: list, sheet: Sheet) -> None:
    """One input in all rows; a policy may practise one whose reward depends on no other column."""
    with unchanged(data):
        rows = [data[at] for at in range(min(len(data), MOST))]
    said = f"{len(rows)} rows were read, and all have the same ids"
    if subject.kind == POLICY and len(set(_rewarded(subject, rows))) == 1:
        sheet.show("rows", f"{said}: one prompt is practised")
        return
    more = (f"their labels are {len(set(labels))} different ones",) if labels else ()
    sheet.find("rows_alike", COUNTED, said, *more, place="train_dataset")


def _rewarded(subject: Subject, rows: list[dict]) -> list[str]:
    """What the reward functions read of each row: all of it, where one of them has no code."""
    functions = getattr(subject.trainer, "reward_funcs", ())
    codes = [getattr(unwrap(one), "__code__", None) for one in functions]
    names = set(rows[0])
    if codes and all(codes):
        names &= set(chain.from_iterable(map(_names_in, codes)))
    return [repr([row[name] for name in sorted(names)]) for row in rows]


def _names_in(code: CodeType) -> Iterator[str]:
    """The names of a function's arguments and the texts in its code, with functions inside it."""
    yield from code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _names_in(constant)


def _contradict(inputs: list, labels: list, sheet: Sheet) -> None:
    """Of each input all labels. Those of several annotators differ as well, and agree mostly."""
    known: dict[Any, set] = defaultdict(set)
    for key, label in zip(inputs, labels, strict=True):
        known[key].add(label)
    share = sum(len(known[key]) > 1 for key in inputs) / len(inputs)
    said = f"{share:.0%} of the rows have an input that stands there with another label, too"
    if share >= MANY and agreement(inputs, labels) < SLIGHT:
        sheet.find("labels_contradict", COUNTED, said, place="train_dataset")
    elif share:
        sheet.show("contradictory labels", said)


def _order(subject: Subject, labels: list, sheet: Sheet) -> None:
    """Labels in blocks, in rows that are read in the order in which they stand."""
    if not _is_in_order(subject.trainer):
        return
    size = _rows_of_an_update(subject.args)
    batches = [labels[at : at + size] for at in range(0, len(labels), size)]
    judge_order(batches, labels, sheet)


def _is_in_order(trainer: Any) -> bool:
    asked = str(getattr(trainer.args, "train_sampling_strategy", ""))
    return "sequential" in asked


def _share_of_copies(rows: list) -> float:
    return (len(rows) - len(set(rows))) / max(1, len(rows))


def _in_both(learnt: set, tested: list, twice: float, sheet: Sheet) -> None:
    """Rows of the evaluation that are trained on, beyond what short texts share by chance.

    Args:
        twice: the share of rows that are copies, of the split that has more of them: where
            requests come again, the evaluation shows it though copies were dropped in training.
    """
    if len(tested) < FEWEST:
        return
    share = sum(one in learnt for one in tested) / len(tested)
    said = f"{share:.0%} of the {len(tested)} rows that are evaluated are trained on as well"
    natural = min(1.0, 2 * twice)  # rows drawn alike meet those of training twice as often
    noise = NATURAL * math.sqrt(natural * (1 - natural) / len(tested))
    if share >= max(LEAK, NATURAL * twice) and share > natural + noise:
        sheet.find("rows_in_both", COUNTED, said, place="train_dataset, eval_dataset")
    elif share:
        sheet.show(
            "rows in both splits", f"{said}; {twice:.0%} of the rows of one split stand twice"
        )
    else:
        sheet.clear("rows in both splits", said)


def _nearly_in_both(subject: Subject, learnt: list, tested: list, sheet: Sheet) -> None:
    """Rows that differ from one to train on in case, spaces and the marks at their ends alone."""
    if min(len(learnt), len(tested)) < FEWEST:
        return
    known = {_core(subject.tokenizer, row) for row in learnt}
    read = [_core(subject.tokenizer, row) for row in tested]
    share = sum(bool(one) and one in known for one in read) / len(read)
    if share <= MANY or len(set(read)) < FEWEST:
        return
    said = f"{share:.0%} of the {len(tested)} rows that are evaluated differ from a row that is "
    said += "trained on in case, spaces, and the marks at their ends alone"
    sheet.find("rows_in_both", MEASURED, said, place="train_dataset, eval_dataset")


def _core(tokenizer: Any, ids: list[int]) -> str:
    text = tokenizer.decode(ids, skip_special_tokens=True).casefold()
    kept = [at for at, letter in enumerate(text) if letter.isalnum()]
    return "".join(text[kept[0] : kept[-1] + 1].split()) if kept else ""
