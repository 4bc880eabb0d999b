"""Looks at what a tokenizer or a task needs in each row: a first token, a blank, an answer."""

from course_utils.diagnostics.diagnosis.measures.data_sets import column, columns_of, ids_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import OF_TOKENS, Loss, speaks_for

NUM_ROWS, FEWEST = 256, 8
NEIGHBOURS = 2048  # rows that stand one behind the other, so that windows of one text are together
NEARLY_ALL = 0.9  # of the questions


@speaks_for(Loss.ROWS, Loss.SPANS, *OF_TOKENS)
def look_at_first_token(subject: Subject, sheet: Sheet) -> None:
    """The token that the tokenizer puts before a text must be somewhere in the rows.

    So a checkpoint has learnt it. A model from scratch has not, and rows that are all of one
    length may be windows from the middle of longer texts.
    """
    tokenizer, rows = subject.tokenizer, ids_of(_data(subject), NUM_ROWS)
    if tokenizer is None or len(rows) < FEWEST or not _is_of_checkpoint(subject):
        return
    plain = tokenizer("a")["input_ids"]
    is_mark = plain and plain[0] in tokenizer.all_special_ids
    if not is_mark or plain[0] == tokenizer.unk_token_id:  # it may not know the letter
        return
    without = sum(plain[0] not in row for row in rows)
    first = tokenizer.convert_ids_to_tokens(plain[0])
    said = f"{without} of {len(rows)} rows have no {first} in them"
    if without < len(rows):
        sheet.clear("first token", said)
    elif len(set(map(len, rows))) == 1:
        sheet.show("first token", f"{said}, and all are of one length")
    else:
        sheet.find("specials_missing", LIKELY, said, place=f"add_special_tokens, {first}")


def _is_of_checkpoint(subject: Subject) -> bool:
    """Whether a model of a library is in it, with weights that were trained before."""
    has_library = any(hasattr(module, "config") for module in subject.model.modules())
    return has_library and not subject.is_drawn


@speaks_for(Loss.SPANS)
def look_at_spans(subject: Subject, sheet: Sheet) -> None:
    """Answers that were not found are given to the first token.

    Of a long text that is read in windows most windows have no answer: each question counts once.
    """
    data = _data(subject)
    if hasattr(data, "select") and columns_of(data):
        data = data.select(range(min(len(data), NEIGHBOURS)))
    starts, ends = (column(data, name, NEIGHBOURS) for name in ("start_positions", "end_positions"))
    if min(len(starts), len(ends)) < FEWEST:
        return
    rows = ids_of(data, NEIGHBOURS) or [[at] for at in range(len(starts))]
    sep = getattr(subject.tokenizer, "sep_token_id", None)
    asked = [_question(row, sep) for row in rows]
    found = {one for one, a, b in zip(asked, starts, ends, strict=True) if a or b}
    lost = 1 - len(found) / len(set(asked))
    turned = sum(b < a for a, b in zip(starts, ends, strict=True))
    said = f"{lost:.0%} of {len(set(asked))} questions have all their answers at token 0; of "
    said += f"{len(starts)} answers {turned} end before they begin"
    if lost >= NEARLY_ALL or turned > len(starts) / 2:
        sheet.find("spans_lost", COUNTED, said, place="start_positions, end_positions")
    else:
        sheet.clear("answers", said)


def _question(ids: list[int], sep: int | None) -> tuple[int, ...]:
    """What stands before the first separator, which the windows of one text share.

    >>> _question([101, 7, 8, 102, 9, 9, 102], 102)
    (101, 7, 8)
    """
    return tuple(ids[: ids.index(sep)] if sep in ids else ids)


def look_at_blank(subject: Subject, sheet: Sheet) -> None:
    """The CTC loss takes the model's pad_token_id for the blank."""
    config, tokenizer = getattr(subject.model, "config", None), subject.tokenizer
    if tokenizer is None or not type(subject.model).__name__.endswith("ForCTC"):
        return
    blank, pad = getattr(config, "pad_token_id", None), tokenizer.pad_token_id
    said = f"config.pad_token_id is {blank}, the tokenizer pads with {pad}"
    if blank != pad:
        sheet.find("blank_differs", COUNTED, said, place="config.pad_token_id")
    else:
        sheet.clear("blank", said)


def _data(subject: Subject) -> object:
    return getattr(subject.trainer, "train_dataset", None)
