"""Names special tokens in replies that a reward function does not get to read."""

from typing import Any

from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.watches.policy import Replies
from course_utils.diagnostics.libraries.trl import ends_of, reward_names

SHARE = 0.1  # of the last replies: a policy that earns nothing by its tags seldom writes them
MOST = 4  # tokens that are named


def hint_dropped_tags(trainer: Any, replies: Replies, sheet: Sheet) -> None:
    """Where all replies earn the same: TRL decodes them with skip_special_tokens=True."""
    listing = replies.listing
    if not replies.last or listing.most != listing.least:
        return
    tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
    ids, mask = replies.last["completion_ids"], replies.last["completion_mask"].bool()
    known = {*ends_of(trainer), tokenizer.pad_token_id, tokenizer.eos_token_id}
    added = getattr(tokenizer, "added_tokens_decoder", {})
    dropped = sorted({one for one, token in added.items() if token.special} - known)
    often = [one for one in dropped if ((ids == one) & mask).any(1).float().mean() >= SHARE][:MOST]
    if not often:
        return
    tags = ", ".join(repr(tokenizer.convert_ids_to_tokens(one)) for one in often)
    names = ", ".join(reward_names(trainer))
    why = (
        f"{names} gives {listing.least:.3g} to every reply. The replies hold {tags}, which are "
        "special tokens: they are left out of the text that a reward function gets"
    )
    advice = (
        f"add them as ordinary tokens (special_tokens=False), or let {names} decode "
        "completion_ids with skip_special_tokens=False"
    )
    sheet.hint("no_signal", why, advice)
