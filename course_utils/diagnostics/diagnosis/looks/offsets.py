"""Looks whether a tokenizer's offsets are where its tokens stand, for labels made from them."""

from typing import Any

from course_utils.diagnostics.diagnosis.measures.forward import has_ids
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

NUM_ROWS = 4
MOST = 0.5  # of the tokens that can be compared


@speaks_for(Loss.SPANS, Loss.TAGS)
def look_at_offsets(subject: Subject, sheet: Sheet) -> None:
    """Tokenize the text of the first rows again, and compare each token with text[start:end]."""
    tokenizer = subject.tokenizer
    if not getattr(tokenizer, "is_fast", False) or not has_ids(subject.batch):
        return
    pairs = [
        pair
        for row in subject.batch["input_ids"][:NUM_ROWS].tolist()
        for pair in _pairs(tokenizer, _plain(tokenizer.decode(row, skip_special_tokens=True)))
    ]
    apart = [(token, cut) for token, cut in pairs if token != cut]
    if len(pairs) < NUM_ROWS:
        return
    if len(apart) <= MOST * len(pairs):
        sheet.clear("offsets", f"{len(pairs) - len(apart)} of {len(pairs)} give their own token")
        return
    token, cut = apart[0]
    sheet.find(
        "offsets_shifted",
        MEASURED + 1,
        f"{len(apart)} of {len(pairs)} offsets cut out another text than their token: {cut!r} "
        f"for {token!r}",
        place="offset_mapping, the tokenizer's pre-tokenizer",
    )


def _plain(text: str) -> str:
    """Text without the signs that stand for a blank where a tokenizer has no decoder."""
    return " ".join(text.replace("\u0120", " ").replace("\u2581", " ").split())


def _pairs(tokenizer: Any, text: str) -> list[tuple[str, str]]:
    """Each token as text, and what its offsets cut out; blanks around them do not count."""
    known = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
    pairs = [
        (_plain(tokenizer.decode([i])), text[start:end].strip())
        for i, (start, end) in zip(known["input_ids"], known["offset_mapping"], strict=True)
    ]
    return [(token, cut) for token, cut in pairs if token and token.lower() in text.lower()]
