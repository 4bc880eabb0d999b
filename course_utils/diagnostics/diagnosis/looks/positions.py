"""Looks at the longest rows beside the table of positions."""

from collections.abc import Iterator
from typing import Any

from torch import nn

from course_utils.diagnostics.diagnosis.measures.forward import has_ids
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import BY_IDS, speaks_for

NAMES = ("position_embeddings", "embed_positions", "wpe")
MOST_ROWS = 10_000


@speaks_for(*BY_IDS)
def look_at_positions(subject: Subject, sheet: Sheet) -> None:
    """A row must not have more tokens than the table has positions behind those it sets aside.

    RoBERTa and its kin begin to count behind the id of padding, OPT at 2.
    """
    found = next(_tables(subject.model), None)
    if found is None or not has_ids(subject.rows) or "position_ids" in subject.batch:
        return
    name, table, aside = found
    room, (longest, number) = table.num_embeddings - aside, _longest(subject)
    if longest <= room:
        sheet.clear("positions", f"the longest row has {longest} tokens (fine: up to {room})")
        return
    sheet.find(
        "index_outside",
        COUNTED,
        f"{name} has {table.num_embeddings} rows, of which {aside} are set aside",
        f"the longest of {number} rows has {longest} tokens",
        place=name,
        why=f"a row has {longest} tokens, and the table of positions has room for {room}",
        advice=f"cut rows to max_length={room} when they are tokenized",
    )


def _tables(model: nn.Module) -> Iterator[tuple[str, nn.Embedding, int]]:
    """Learnt tables of positions, with the number of rows that no token gets."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and name.rpartition(".")[2] in NAMES:
            behind_pad = 0 if module.padding_idx is None else module.padding_idx + 1
            yield name, module, getattr(module, "offset", behind_pad)


def _longest(subject: Subject) -> tuple[int, int]:
    """The tokens of the longest row, and how many rows were read.

    Where the batch is narrower than its own rows, the collator cuts them: its width is what counts.
    """
    width, count = subject.rows["input_ids"].shape[::-1]
    data: Any = getattr(subject.trainer, "train_dataset", None)
    if "input_ids" not in (getattr(data, "column_names", None) or ()) or not hasattr(
        data, "select"
    ):
        return width, count
    number = min(len(data), MOST_ROWS)
    lengths = [len(ids) for ids in data.select(range(number)).with_format(None)["input_ids"]]
    if max(lengths[:count]) > width:
        return width, count
    return max([width, *lengths]), max(number, count)
