"""Judges replies of which none is seen to end: another token than theirs is waited for."""

import re
from statistics import fmean
from typing import Any

from torch import Tensor

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.watches.policy import Replies
from course_utils.diagnostics.libraries.trl import ends_of

ALL, MOST = 0.95, 0.8  # of the replies: cut off, and with the token inside
MARK = re.compile(r"<.+>|\[.+\]|\u25c1.+\u25b7")  # how the tokens that mark an end are written
END = re.compile(r"end|eo[stmu]|stop|sep|/", re.IGNORECASE)  # and what they are called


def judge_unended(trainer: Any, replies: Replies, sheet: Sheet) -> None:
    """Name the token with which replies end and after which generation goes on."""
    cut = [one.share_truncated for one in replies.numbers if one.share_truncated is not None]
    if not replies.last or not cut or fmean(cut) < ALL:
        return
    tokenizer, ids = trainer.processing_class, replies.last["completion_ids"]
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    waited = ends_of(trainer)
    found = _mark_in(ids, tokenizer, waited | {tokenizer.pad_token_id})
    is_masked = getattr(trainer, "mask_truncated_completions", False)
    lost = ", and mask_truncated_completions takes it out of the loss" if is_masked else ""
    if found is None:
        return
    mark, share = found
    token = tokenizer.convert_ids_to_tokens(mark)
    ends = " or ".join(repr(tokenizer.convert_ids_to_tokens(end)) for end in sorted(waited))
    sheet.find(
        "ends_unseen",
        COUNTED + 1,
        f"{share:.0%} of the last replies write {token!r} and go on; {fmean(cut):.0%} of all are "
        "cut at the limit",
        place="eos_token",
        why=f"the replies end with {token!r}, and generation waits for {ends}: each counts as cut "
        f"off{lost}",
        advice=f"eos_token {token!r} (id {mark}) in tokenizer, config and generation_config",
    )


def _mark_in(ids: Tensor, tokenizer: Any, known: set) -> tuple[int, float] | None:
    """The mark, none of the known ones, that most replies hold, and in how many.

    A reply goes on behind it: one that is cut at its last token is as long as it was meant to be.
    """
    inner = ids[:, :-1].unique().tolist()
    marks = [i for i in inner if i not in known and _marks_an_end(tokenizer, i)]
    shares = {mark: float((ids == mark).any(1).double().mean()) for mark in marks}
    best = max(shares, key=shares.get, default=None)
    return (best, shares[best]) if best is not None and shares[best] >= MOST else None


def _marks_an_end(tokenizer: Any, i: int) -> bool:
    """Whether a token is called an end, or is special: others are part of what is written."""
    token = str(tokenizer.convert_ids_to_tokens(i))
    added = getattr(tokenizer, "added_tokens_decoder", {}).get(i)
    return bool(MARK.fullmatch(token)) and bool(END.search(token) or getattr(added, "special", 0))
