"""Exercise 07.3: a collator that a pad token cannot fool, judged by training with it."""

from collections.abc import Callable

import torch

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.settings import OverSeeds, over_seeds
from course_utils.reproductions.lesson_07.never_stops_outcomes import Outcome, outcome

SEEDS = (1, 2, 3)
PAD_IS_END = "<|im_end|>"
KEYS = ("input_ids", "attention_mask", "labels")
PAD = 9
# The pad id stands in the text, as an end and elsewhere; one row is a single token.
ROWS = (
    (
        {"input_ids": [3, 9, 4, 5, 9], "labels": [-100, -100, -100, 5, 9]},
        {"input_ids": [9, 4, 9], "labels": [-100, 4, 9]},
        {"input_ids": [6], "labels": [6]},
    ),
    (
        {"input_ids": [9, 1, 9, 9], "labels": [-100, -100, 9, 9]},
        {"input_ids": [1, 2, 3, 4, 5, 9], "labels": [-100, -100, -100, -100, 5, 9]},
    ),
    ({"input_ids": [5, 9], "labels": [-100, 9]},),
)


class _Tried:
    """An answer and the runs that are trained with it, when a criterion first asks for them."""

    def __init__(self, collate: Callable) -> None:
        self.collate = collate
        self.runs = OverSeeds(lambda seed: outcome(collate, pad=PAD_IS_END, seed=seed), SEEDS)

    def batch(self, rows: tuple) -> dict:
        return self.collate([{k: list(v) for k, v in row.items()} for row in rows], PAD)


def is_a_batch(collate) -> str | None:
    for rows in ROWS:
        batch = _Tried(collate).batch(rows)
        if not hasattr(batch, "keys") or set(batch.keys()) != set(KEYS):
            keys = sorted(batch.keys()) if hasattr(batch, "keys") else type(batch).__name__
            return f"it returns {keys}; a dict of {', '.join(KEYS)} is needed"
        width = max(len(row["input_ids"]) for row in rows)
        for key in KEYS:
            value = batch[key]
            if not isinstance(value, torch.Tensor) or value.shape != (len(rows), width):
                shape = tuple(value.shape) if hasattr(value, "shape") else type(value).__name__
                asked = f"a tensor of shape {(len(rows), width)} is needed"
                return f"for {len(rows)} rows of up to {width} tokens {key} is {shape}; {asked}"
        if batch["input_ids"].dtype != torch.long or batch["labels"].dtype != torch.long:
            return "input_ids and labels are token ids and need the dtype torch.long"
    return None


def _first_differing(batch: dict, key: str, want: list[list[int]]) -> str | None:
    got = batch[key].long().tolist()
    for number, (mine, right) in enumerate(zip(got, want, strict=True)):
        if mine != right:
            return f"with pad {PAD}, {key} of row {number} is {mine}, it should be {right}"
    return None


def _filled(rows: tuple, key: str, padding: int) -> list[list[int]]:
    width = max(len(row["input_ids"]) for row in rows)
    values = [row.get(key, [1] * len(row["input_ids"])) for row in rows]
    return [list(v) + [padding] * (width - len(v)) for v in values]


def keeps_the_ids(tried: _Tried) -> str | None:
    looks = (
        _first_differing(tried.batch(r), "input_ids", _filled(r, "input_ids", PAD)) for r in ROWS
    )
    return next(filter(None, looks), None)


def masks_padding_alone(tried: _Tried) -> str | None:
    looks = (_first_differing(tried.batch(r), "attention_mask", _filled(r, "-", 0)) for r in ROWS)
    return next(filter(None, looks), None)


def learns_no_padding(tried: _Tried) -> str | None:
    for rows in ROWS:
        labels = tried.batch(rows)["labels"].tolist()
        for number, row in enumerate(rows):
            behind = labels[number][len(row["input_ids"]) :]
            if any(label != -100 for label in behind):
                return f"with pad {PAD}, the padding of row {number} has the labels {behind}"
    return None


def keeps_the_labels(tried: _Tried) -> str | None:
    looks = (_first_differing(tried.batch(r), "labels", _filled(r, "labels", -100)) for r in ROWS)
    return next(filter(None, looks), None)


@over_seeds
def _ends_and_is_right(run: Outcome) -> str | None:
    did = run.behaviour
    if did.stops >= 0.95 and did.right >= 0.9:
        return None
    seen = f"{did.stops:.0%} of the held-out replies stop and {did.right:.0%} are right"
    return f"{seen}; at least 95 % and 90 % are needed"


def stops_and_is_right(tried: _Tried) -> str | None:
    before = (keeps_the_ids, masks_padding_alone, learns_no_padding, keeps_the_labels)
    if any(look(tried) for look in before):
        return "no run was trained with it, because the batch is not right yet"
    return _ends_and_is_right(tried.runs)


def by_lengths(rows, pad):
    width = max(len(row["input_ids"]) for row in rows)
    batch = {"input_ids": [], "attention_mask": [], "labels": []}
    for row in rows:
        more = width - len(row["input_ids"])
        batch["input_ids"].append(row["input_ids"] + [pad] * more)
        batch["attention_mask"].append([1] * len(row["input_ids"]) + [0] * more)
        batch["labels"].append(row["labels"] + [-100] * more)
    return {key: torch.tensor(value) for key, value in batch.items()}


COLLATE = Exercise(
    id="07.3",
    name="COLLATE",
    title="A collator that works with any pad token",
    minutes=6,
    difficulty="a few lines",
    points=4,
    reads="collate",
    expects=(Callable,),
    hints=(
        "What do you know about each row before padding is added that its ids cannot tell you?",
        "The length of a row tells where its padding begins. Then you need not compare any id.",
        "Pad three lists of each row to the same length. Which number does cross_entropy ignore, "
        "and what is the mask of a token that the row holds?",
    ),
    form=is_a_batch,
    criteria=(
        Criterion(
            "Every token stays, and `pad` is added on the right.",
            keeps_the_ids,
            why="the model learns the rows as they stand in the batch, in this order",
            next="lengthen each row's ids with `pad`",
        ),
        Criterion(
            "The mask is 1 on the text, whatever its ids, and 0 on the padding.",
            masks_padding_alone,
            why="the model reads every token whose mask is 1, and no other",
            next="make the mask from the row's length",
        ),
        Criterion(
            "No padding is learnt.",
            learns_no_padding,
            why="padding would have more labels than the reply has",
            next="lengthen each row's labels with -100",
        ),
        Criterion(
            "The labels of the text are those of the rows.",
            keeps_the_labels,
            why="the rows decide what is learnt; a collator only makes them equally long",
            next="copy each row's labels as they are, and compare none with `pad`",
        ),
        Criterion(
            "Trained with pad == eos on three other seeds, replies stop and sums are right.",
            stops_and_is_right,
            why="the reports are about this; limits and stop strings only hide it",
            next="collate rows of the run itself and read the batch with inspect_batch",
        ),
    ),
    answer=by_lengths,
    run=_Tried,
    time_limit_s=120.0,
)
