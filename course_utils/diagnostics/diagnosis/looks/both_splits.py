"""Looks at the first tokens of both splits: what stands before all rows of only one of them."""

import re
from typing import Any

from course_utils.diagnostics.diagnosis.measures.data_sets import ids_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

NUM_ROWS, FEWEST = 256, 8
MOSTLY_NEW, USUAL = 0.5, 0.1  # shares of tokens
CASES = (str.lower, str.upper, str.title)


def look_at_both_splits(subject: Subject, sheet: Sheet) -> None:
    trainer, tokenizer = subject.trainer, subject.tokenizer
    if tokenizer is None or isinstance(getattr(trainer, "eval_dataset", None), dict):
        return
    learnt, tested = (
        _rows(getattr(trainer, name, None), tokenizer) for name in ("train_dataset", "eval_dataset")
    )
    if min(len(learnt), len(tested)) < FEWEST:
        return
    first, other = _common(learnt), _common(tested)
    for mine, rows, here, there in (
        (first, tested, "training", "the evaluation"),
        (other, learnt, "the evaluation", "training"),
    ):
        if len(mine) > 1 and not any(_begins_with(row, mine, tokenizer) for row in rows):
            sheet.find(
                "evaluation_rows_differ",
                COUNTED,
                f"all rows of {here} begin with {_decoded(tokenizer, mine)!r}, and none of {there}",
                place="train_dataset, eval_dataset",
                specimen=(
                    f"training: {_decoded(tokenizer, learnt[0][:24])!r}",
                    f"evaluation: {_decoded(tokenizer, tested[0][:24])!r}",
                ),
            )
            return
    sheet.clear("the beginning of both splits", "the same")
    _words(learnt, tested, tokenizer, sheet)


def _begins_with(row: list[int], mine: list[int], tokenizer: Any) -> bool:
    """Whether a row begins with these tokens, or with their text but for its numbers.

    Where each text begins with a date, a split by time has other dates in each part.
    """
    if row[: len(mine)] == mine:
        return True
    text, form = (
        re.sub(r"\d+", "0", _decoded(tokenizer, ids)) for ids in (row[: 2 * len(mine)], mine)
    )
    return text.startswith(form)


def _words(learnt: list[list[int]], tested: list[list[int]], tokenizer: Any, sheet: Sheet) -> None:
    """Tokens of the evaluation that no row to train on has, beside those of a part of the rows.

    They may be of another language, on purpose; where the same text in small or capital letters
    has the tokens of training, it was prepared in another way.
    """
    half = len(learnt) // 2
    known = {one for row in learnt[:half] for one in row}
    here, there = (_share_new(rows, known) for rows in (learnt[half:], tested))
    said = f"{there:.0%} of the tokens of the evaluation stand in none of {half} rows of training"
    said = f"{said}; of other rows of training it is {here:.0%}"
    if there > MOSTLY_NEW and here < USUAL and _is_in_other_letters(tested, known, tokenizer):
        place = "eval_dataset, and how its text is prepared"
        sheet.find("evaluation_rows_differ", MEASURED, said, place=place)
    else:
        sheet.show("tokens of the evaluation", said)


def _is_in_other_letters(rows: list[list[int]], known: set[int], tokenizer: Any) -> bool:
    """Whether the rows are made of known tokens once their letters are small, or capital."""
    texts = [_decoded(tokenizer, row) for row in rows]
    told = (
        [tokenizer(case(text), add_special_tokens=False)["input_ids"] for text in texts]
        for case in CASES
    )
    return any(_share_new(one, known) < 2 * USUAL for one in told)


def _share_new(rows: list[list[int]], known: set[int]) -> float:
    tokens = [one for row in rows for one in row]
    return sum(one not in known for one in tokens) / max(1, len(tokens))


def _rows(data: Any, tokenizer: Any) -> list[list[int]]:
    """Ids without special tokens."""
    special = set(tokenizer.all_special_ids)
    return [[one for one in row if one not in special] for row in ids_of(data, NUM_ROWS)]


def _common(rows: list[list[int]]) -> list[int]:
    """The tokens with which all rows begin."""
    least, most = min(rows), max(rows)
    pairs = enumerate(zip(least, most, strict=False))
    return least[: next((i for i, (a, b) in pairs if a != b), len(least))]


def _decoded(tokenizer: Any, ids: list[int]) -> str:
    return tokenizer.decode(ids)
