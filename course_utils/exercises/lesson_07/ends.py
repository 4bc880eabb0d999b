"""Exercise 07.2: how many replies of a batch have their end in the loss."""

from collections.abc import Callable

import torch

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.reproductions.lesson_07 import batches

START, END, LINE = 318, 319, 198
KEYS = ("input_ids", "attention_mask", "labels")


def shared(batch: dict, start: int, end: int) -> float:
    """The right share, row by row, token by token."""
    good, columns = 0, (batch[k].tolist() for k in KEYS)
    for ids, mask, labels in zip(*columns, strict=True):
        last = max(at for at, token in enumerate(ids) if token == start and mask[at])
        good += any(
            ids[at] == end and mask[at] and labels[at] == end for at in range(last, len(ids))
        )
    return good / len(batch["input_ids"])


def _rows(*rows: str) -> dict:
    """A batch from tokens: S starts, E ends, e is an end without a label, . is padding.

    A digit is any other token, without a label.
    """
    ids = {"S": START, "E": END, "e": END, ".": LINE}
    made = {
        "input_ids": [[ids.get(one, int(one) if one.isdigit() else 0) for one in r] for r in rows],
        "attention_mask": [[int(one != ".") for one in row] for row in rows],
        "labels": [[END if one == "E" else -100 for one in row] for row in rows],
    }
    return {key: torch.tensor(value) for key, value in made.items()}


def _labelled_early(batch: dict) -> dict:
    """Labels that somebody shifted by hand: each token has the label of the next one."""
    return batch | {"labels": batch["labels"].roll(-1, dims=-1)}


def _labelled_otherwise(seed: int) -> dict:
    """Where an end is in the row, the label is a line end."""
    batch = _made(batches.replies_learnt, seed)
    return batch | {"labels": batch["labels"].masked_fill(batch["input_ids"] == END, LINE)}


def _made(make: Callable, seed: int) -> dict:
    return make(seed)[0]


def _half(seed: int) -> dict:
    """Every other row has lost the label of its end."""
    batch = _made(batches.replies_learnt, seed)
    batch["labels"][::2] = batch["labels"][::2].masked_fill(batch["labels"][::2] == END, -100)
    return batch


def _with_one_more(batch: dict, token: int = LINE) -> dict:
    """The same rows with one more token at their end, as a template's line end; it is learnt."""
    more = {"input_ids": token, "attention_mask": 1, "labels": token}
    wider = {k: torch.nn.functional.pad(v, (0, 1)) for k, v in batch.items()}
    lengths = batch["attention_mask"].sum(-1)
    for key, value in more.items():
        wider[key][:, -1] = {"labels": -100}.get(key, 0)
        wider[key][torch.arange(len(lengths)), lengths] = value
    return wider


def _renamed(batch: dict) -> dict:
    """The same batch with other ids for what begins and what ends a message."""
    swap = {START: 7, END: 9}
    return {k: v.clone().apply_(lambda i: swap.get(i, i)) for k, v in batch.items()}


def _agrees(given: str, batch: dict, start: int = START, end: int = END):
    want = shared(batch, start, end)
    return lambda answer: number_differs(
        answer({k: v.clone() for k, v in batch.items()}, start, end), want, rtol=1e-4, given=given
    )


def _first_of(*looks: Callable) -> Callable:
    return lambda answer: next(filter(None, (look(answer) for look in looks)), None)


def gives_a_number(share) -> str | None:
    got = share(_made(batches.replies_learnt, 0), START, END)
    size = getattr(got, "numel", lambda: 1)()
    if isinstance(got, bool) or not hasattr(type(got), "__float__") or size != 1:
        return f"it returns {got!r}; one number from 0 to 1 is needed"
    return f"it returns {float(got):g} for a batch; a share is from 0 to 1" if got > 1 else None


def counts_labelled_ends(share) -> str | None:
    return _first_of(
        _agrees("a batch that learns every end", _made(batches.replies_learnt, 1)),
        _agrees("a batch whose labels were made by id", _made(batches.labels_by_id, 1)),
        _agrees("a batch in which every other end is learnt", _half(2)),
        _agrees("a batch whose ends have another token as their label", _labelled_otherwise(1)),
        _agrees("one row alone", {k: v[1:2] for k, v in _half(2).items()}),
    )(share)


def leaves_out_the_users_ends(share) -> str | None:
    whole = _made(batches.whole_chats, 3)
    mixed = whole | {"labels": _unlearnt_last_ends(whole, rows=3)}
    no_start = mixed["labels"].masked_fill(mixed["input_ids"] == START, -100)
    return _first_of(
        _agrees("whole chats in the loss, with the users' ends", whole),
        _agrees("whole chats in which one reply of four keeps its end", mixed),
        _agrees("the same chats without a label at any start", mixed | {"labels": no_start}),
        _agrees("rows whose last messages begin at different places", SHORT_LONG),
        _agrees("the same rows in the other order", {k: v.flip(0) for k, v in SHORT_LONG.items()}),
    )(share)


def _unlearnt_last_ends(batch: dict, *, rows: int) -> torch.Tensor:
    """The labels, without the reply's end in the first `rows` rows; the user's stays."""
    is_end = batch["input_ids"] == END
    is_last = is_end & (is_end.flip(-1).cumsum(-1).flip(-1) == 1)
    is_last[rows:] = False
    return batch["labels"].masked_fill(is_last, -100)


def counts_rows_without_an_end(share) -> str | None:
    return _first_of(
        _agrees("rows of which some were cut before their end", _made(batches.cut_off, 0)),
        _agrees("replies without any end", _made(batches.never_appended, 2)),
    )(share)


def works_elsewhere(share) -> str | None:
    half, learnt = _half(4), _made(batches.labels_by_id, 5)
    pads_end = _made(batches.replies_learnt, 5)
    hidden = pads_end["attention_mask"] == 0
    padded = {k: v.masked_fill(hidden, END) for k, v in pads_end.items() if k != "attention_mask"}
    padded |= {"attention_mask": pads_end["attention_mask"]}
    padded["labels"] = torch.where(hidden, END, learnt["labels"])
    return _first_of(
        _agrees("a batch padded on the left", batches.on_the_left(half)),
        _agrees("a batch whose start is id 7 and whose end is id 9", _renamed(half), 7, 9),
        _agrees("a batch whose padding is the end, and has labels", padded),
    )(share)


def looks_at_every_end(share) -> str | None:
    whole, none = (_made(make, 5) for make in (batches.replies_learnt, batches.labels_by_id))
    second = _with_one_more(none, END)
    return _first_of(
        _agrees("a batch with a line end behind each end", _with_one_more(_half(4))),
        _agrees("rows with two ends, both learnt", _with_one_more(whole, END)),
        _agrees("rows with two ends, of which only the second is learnt", second),
        _agrees("a row with two ends, of which only the first is learnt", _rows("S5Ee", "S6ee")),
        _agrees("labels that stand one place before their tokens", _labelled_early(whole)),
    )(share)


# The user's end of the long row lies behind the start of the short row's reply.
SHORT_LONG = _rows("S1ES5E...", "S1234ES6e")


def by_rows(batch, start, end):
    good = 0
    for ids, mask, labels in zip(
        batch["input_ids"], batch["attention_mask"], batch["labels"], strict=True
    ):
        begins = ((ids == start) & (mask == 1)).nonzero()[-1].item()
        is_end = (ids == end) & (labels == end) & (mask == 1)
        good += bool(is_end[begins:].any())
    return good / len(batch["input_ids"])


ENDS = Exercise(
    id="07.2",
    name="ENDS",
    title="The share of replies whose end is learnt",
    minutes=8,
    difficulty="a few lines",
    points=3,
    reads="share_of_ends",
    expects=(Callable,),
    hints=(
        "In each row, where does the last message begin? Nothing before that counts.",
        "After the last `start` with mask 1, is there an `end` with mask 1 "
        "whose label is the end and not -100?",
        "Row by row: find the last position of `start` and look at ids, mask and labels from "
        "there; the share is the mean over the rows.",
    ),
    form=gives_a_number,
    criteria=(
        Criterion(
            "It counts the ends that have a label.",
            counts_labelled_ends,
            why="the model does not learn an end that has no label",
            next="an end counts if the token is the end and its label is the end, too; count rows, "
            "not tokens",
        ),
        Criterion(
            "The users' ends do not count.",
            leaves_out_the_users_ends,
            why="half of all ends in a chat belong to a question",
            next="look only after the last start of each row, which every row has somewhere else",
        ),
        Criterion(
            "A row without an end counts as a row that does not learn it.",
            counts_rows_without_an_end,
            why="for the model, a truncated reply is the same fault",
            next="divide by the number of rows, not by the number of ends",
        ),
        Criterion(
            "It is right for padding on either side, and for other ids.",
            works_elsewhere,
            why="you will use it on your own batches",
            next="use the arguments, and use the attention mask to find the padding",
        ),
        Criterion(
            "Any end after the start counts, and nothing else does.",
            looks_at_every_end,
            why="a template may put a line end or a second end behind the end",
            next="ask of each place after the start, not only of one: are token and label the end?",
        ),
    ),
    answer=by_rows,
)
