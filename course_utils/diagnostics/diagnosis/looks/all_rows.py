"""Looks at the rows of the data sets as a whole: alike, contradictory, in both splits, in order."""

import math
from collections import defaultdict
from typing import Any

from course_utils.diagnostics.batch_view.rows import unchanged
from course_utils.diagnostics.diagnosis.looks.row_order import judge_order
from course_utils.diagnostics.diagnosis.looks.settings import num_steps_of
from course_utils.diagnostics.diagnosis.measures.data_sets import (
    MOST,
    ids_of,
    inputs_of,
    labels_of,
)
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.libraries.datasets import left_out, num_before_filter
from course_utils.diagnostics.loss_kind import IGNORED, Loss

FEWEST = 16  # rows, below which nothing is said
MORE, EPOCHS = 4, 20  # times as many rows to evaluate; of a run on a handful of rows
MANY = 0.5  # of the rows
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
    inputs = inputs_of(data)
    if len(inputs) < FEWEST:
        return
    labels = labels_of(data) if subject.loss in (Loss.ROWS, Loss.REPLIES) else []
    if len(set(inputs)) == 1:
        _alike(subject, data, labels, sheet)
        return
    twice = 1 - len(set(inputs)) / len(inputs)
    sheet.clear("rows that differ", f"{len(set(inputs))} of {len(inputs)}")
    if labels and len(labels) == len(inputs) and all(isinstance(one, int) for one in labels):
        _contradict(inputs, labels, sheet)
        _order(subject, labels, sheet)
    if subject.kind != POLICY and not isinstance(tested, dict):
        others = inputs_of(tested)
        _in_both(set(inputs), others, twice, sheet)
        if twice < FEW and subject.tokenizer is not None:
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
    args = subject.args
    epochs = num_steps_of(subject) * _rows_of_an_update(args) / max(rows, 1)
    if 0 < rows <= FEWEST and others >= MORE * rows and epochs >= EPOCHS:
        said = f"{rows} rows are read about {epochs:.0f} times, and {others} are evaluated"
        sheet.find("trial_rows", LIKELY, said, place="train_dataset")


def _rows_of_an_update(args: Any) -> int:
    return args.train_batch_size * args.gradient_accumulation_steps * args.world_size


def _alike(subject: Subject, data: Any, labels: list, sheet: Sheet) -> None:
    """One input in all rows; a policy may practise one prompt, if all else is alike as well."""
    with unchanged(data):
        rows = [repr(data[at]) for at in range(min(len(data), MOST))]
    said = f"{len(rows)} rows were read, and all have the same ids"
    if subject.kind == POLICY and len(set(rows)) == 1:
        sheet.show("rows", f"{said}: one prompt is practised")
        return
    more = (f"their labels are {len(set(labels))} different ones",) if labels else ()
    sheet.find("rows_alike", COUNTED, said, *more, place="train_dataset")


def _contradict(inputs: list, labels: list, sheet: Sheet) -> None:
    """Of each input all labels; a few that differ are noise."""
    known: dict[Any, set] = defaultdict(set)
    for key, label in zip(inputs, labels, strict=True):
        known[key].add(label)
    share = sum(len(known[key]) > 1 for key in inputs) / len(inputs)
    said = f"{share:.0%} of the rows have an input that stands there with another label, too"
    if share >= MANY:
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


def _in_both(learnt: set, tested: list, twice: float, sheet: Sheet) -> None:
    """Rows of the evaluation that are trained on, beyond what short texts share by chance."""
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
            "rows in both splits", f"{said}; {twice:.0%} of the rows to train on stand twice"
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
