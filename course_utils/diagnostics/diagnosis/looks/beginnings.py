"""Looks at what a tokenizer or a task needs in each row: a first token, a blank, an answer."""

from course_utils.diagnostics.diagnosis.measures.data_sets import column, ids_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import OF_TOKENS, Loss, speaks_for

NUM_ROWS, FEWEST = 256, 8
NEARLY_ALL = 0.9  # of the rows


@speaks_for(Loss.ROWS, Loss.SPANS, *OF_TOKENS)
def look_at_first_token(subject: Subject, sheet: Sheet) -> None:
    """The token that the tokenizer puts before a text must be somewhere in the rows."""
    tokenizer, rows = subject.tokenizer, ids_of(_data(subject), NUM_ROWS)
    if tokenizer is None or len(rows) < FEWEST:
        return
    plain = tokenizer("a")["input_ids"]
    is_mark = plain and plain[0] in tokenizer.all_special_ids
    if not is_mark or plain[0] == tokenizer.unk_token_id:  # it may not know the letter
        return
    without = sum(plain[0] not in row for row in rows)
    first = tokenizer.convert_ids_to_tokens(plain[0])
    said = f"{without} of {len(rows)} rows have no {first} in them"
    if without == len(rows):
        sheet.find("specials_missing", LIKELY, said, place=f"add_special_tokens, {first}")
    else:
        sheet.clear("first token", said)


@speaks_for(Loss.SPANS)
def look_at_spans(subject: Subject, sheet: Sheet) -> None:
    """Answers that were not found are given to the first token."""
    starts, ends = (
        column(_data(subject), name, NUM_ROWS) for name in ("start_positions", "end_positions")
    )
    if min(len(starts), len(ends)) < FEWEST:
        return
    lost = sum(not a and not b for a, b in zip(starts, ends, strict=True)) / len(starts)
    turned = sum(b < a for a, b in zip(starts, ends, strict=True))
    said = f"{lost:.0%} of {len(starts)} answers are at token 0; {turned} end before they begin"
    if lost >= NEARLY_ALL or turned > len(starts) / 2:
        sheet.find("spans_lost", COUNTED, said, place="start_positions, end_positions")
    else:
        sheet.clear("answers", said)


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
