"""Looks at pairs after the run: whether the chosen replies were lost while the margin grew.

That both log-probs fall is usual in DPO and no fault: what counts is whether the chosen reply still
is what the model gives by itself, where it was before.
"""

from torch import nn

from course_utils.diagnostics.diagnosis.measures.pair_replies import (
    PairReplies,
    first_pairs,
    replies_in,
)
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import WORSE
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, Subject

KNOWN = 0.5  # of the chosen replies: were the model's own first choice, token by token
LOST = 0.1  # and of all: are so no more
FEWEST = 8  # pairs, to speak of a share
FAR_TOO_HIGH = 1e-3  # a rate, with AdamW
FIX = "add the likelihood of the chosen replies: loss_type=['sigmoid', 'sft']; or fewer steps"


def look_at_replies_before(subject: Subject, sheet: Sheet) -> None:
    """Keep what the policy says of the first pairs before it is trained on them."""
    if subject.kind != PAIRS or subject.has_ended:
        return
    rows = first_pairs(subject.trainer)
    if rows is not None:
        subject.replies_before = replies_in(subject.model, rows)


def look_at_displaced(subject: Subject, sheet: Sheet) -> None:
    """Compare the replies of the first pairs in the trained policy and in the one before."""
    if (both := before_and_now(subject)) is None:
        return
    before, now = both
    n, moved = now.num_pairs, now.logps_R - before.logps_R
    fell = [moved[half].mean().item() for half in (slice(0, n), slice(n, 2 * n))]
    has, had = now.num_own, before.num_own
    said = f"chosen {fell[0]:+.2g}, rejected {fell[1]:+.2g} nats a reply since the start"
    if n < FEWEST or max(fell) >= 0 or had < KNOWN * n or had - has < LOST * n:
        sheet.show("replies of the first pairs", said)
        return
    choice = f"the model would give {has} of {n} chosen replies by itself, and {had} before"
    sheet.became(WORSE, choice)
    rate = float(getattr(subject.args, "learning_rate", 0.0))
    if rate > FAR_TOO_HIGH and subject.steps_by_rate:
        _thrown_away(rate, (choice, said), sheet)
        return
    sheet.find(
        "margin_by_pushing_down",
        MEASURED,
        choice,
        said,
        place="loss_type, without a term for the chosen replies",
        why="the margin grew by pushing down both replies, and the chosen ones are lost with them",
        advice=FIX,
    )


def before_and_now(subject: Subject) -> tuple[PairReplies, PairReplies] | None:
    """The replies of the first pairs in the policy before its run, or in its reference, and now."""
    other, before = subject.reference, subject.replies_before
    is_known = before is not None or isinstance(other, nn.Module)
    if subject.kind != PAIRS or not subject.has_ended or not is_known:
        return None
    if (rows := first_pairs(subject.trainer)) is None:
        return None
    return before or replies_in(other, rows), replies_in(subject.model, rows)


def _thrown_away(rate: float, said: tuple[str, str], sheet: Sheet) -> None:
    sheet.find(
        "rate_too_high",
        MEASURED + 0.5,
        *said,
        place=f"learning_rate={rate:g}",
        why=f"the steps are far too long for DPO: at a rate of {rate:g} both replies of each pair "
        "lose, and with them what the model could do",
        advice="a rate of 1e-6 to 5e-6, or up to 1e-4 with an adapter or a very small model",
    )
