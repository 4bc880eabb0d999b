"""Judges a run's replies: no signal, tiny spreads, large updates, length that is paid for."""

import math
from collections.abc import Sequence
from statistics import fmean, median

from course_utils.diagnostics.diagnosis.judges.dropped_tags import hint_dropped_tags
from course_utils.diagnostics.diagnosis.judges.sampler import judge_agreement, judge_finite
from course_utils.diagnostics.diagnosis.judges.signal import judge_signal, judge_silence
from course_utils.diagnostics.diagnosis.judges.unended import judge_unended
from course_utils.diagnostics.diagnosis.measures.last_replies import LastReplies
from course_utils.diagnostics.diagnosis.measures.policy_numbers import PolicyNumbers
from course_utils.diagnostics.diagnosis.measures.specimens import in_order
from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import AWAY, ENDLESS, STOOD
from course_utils.diagnostics.diagnosis.sheet.harm import LONGER as GREW
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.policy import Replies
from course_utils.diagnostics.libraries.trl import loss_type_of, not_kept, scale_of

RESIDUE = 1e-2  # an advantage below this is what rounding leaves of 0
ROUNDING = 1e-5  # a reward_std below it is one of rewards that are alike
FAR = 0.7  # nats per token between two batches: each probability halves or doubles
HALF = 0.5  # of the replies
USUAL = 0.1  # of the first entropy, by which the last may differ
LONGER = 1.3  # mean length of the last third by that of the first
AS_LONG = 1.02  # times those that win: replies that lose, and are no longer
WEIGHED_BY_ROW = ("grpo", "sapo")  # a token counts by one over the length of its reply


def judge_policy(subject: Subject, replies: Replies, sheet: Sheet) -> None:
    for error in replies.failures[:1]:
        sheet.fail("the replies", error)
    if not replies.numbers:
        return
    texts = replies.texts()
    if texts is None or not texts.is_unscored:
        hint_dropped_tags(subject.trainer, replies, sheet)
        replies.listing.hint(subject.trainer, sheet)
        replies.answers.hint(subject.trainer, sheet)
    judge_numbers(
        replies.numbers,
        sheet,
        scale=_scale(subject),
        spreads=subject.logged("reward_std"),
        group=getattr(subject.trainer, "num_generations", None),
        replies=texts,
        shape=replies.shape,
    )
    judge_unended(subject.trainer, replies, sheet)
    replies.listing.judge(subject.trainer, sheet)
    replies.answers.judge(subject.trainer, sheet)
    replies.contradictions.judge(subject.trainer, sheet)
    judge_finite(subject, replies.numbers, sheet)
    if (loss_type := loss_type_of(subject.trainer)) in WEIGHED_BY_ROW:
        is_mixed = getattr(subject.args, "shuffle_dataset", True) is not False
        _length(replies.numbers, loss_type, sheet, is_mixed=is_mixed)
    for what, why in not_kept(subject.trainer).items():
        sheet.miss(what, why)


def _scale(subject: Subject) -> str:
    """By which spread the sum is divided; one of normalised parts always by that of the batch."""
    how = getattr(subject.args, "multi_objective_aggregation", "")
    return "batch" if how == "normalize_then_sum" else scale_of(subject.trainer)


def judge_numbers(
    numbers: list[PolicyNumbers],
    sheet: Sheet,
    *,
    scale: str = "",
    group: int | None = None,
    spreads: Sequence[float] = (),
    replies: LastReplies | None = None,
    shape: tuple[str, str] = ("", ""),
) -> None:
    """Write down the findings on batches of replies, the first batch first.

    Args:
        spreads: the logged standard deviations of the rewards within a group.
        replies: the last replies; `shape`: how the sampler's log-probs differ, and the fix.
    """
    judge_agreement(numbers, shape, sheet)
    judge_signal(numbers, replies, sheet)
    limits = {"group": math.sqrt(group or 2500), "none": math.inf}  # undivided, any size is right
    _spread(numbers, sheet, limits.get(scale, 50.0), group, spreads)
    _movement(numbers, sheet)
    judge_silence(numbers, replies, sheet)
    _shown(numbers, sheet, limit=f" at {replies.limit} tokens" if replies and replies.limit else "")


def _shown(numbers: list[PolicyNumbers], sheet: Sheet, *, limit: str) -> None:
    """Numbers without a threshold: entropy and truncated replies, first and last batch."""
    entropies = [e for one in numbers if (e := one.entropy) is not None and math.isfinite(e)]
    if entropies:
        stands = all(one.moved == 0 for one in numbers if one.moved is not None)
        still = "; no update moved the policy, so the prompts of the batches differ"
        because = still if stands and len(numbers) > 1 else ""
        span = (
            f"{entropies[0]:.3g} nats a token in the first batch, {entropies[-1]:.3g} in the last"
        )
        is_usual = abs(entropies[-1] - entropies[0]) <= USUAL * entropies[0]
        sheet.show("entropy", f"{span}{because}", usual=is_usual)
    cut = [one.share_truncated for one in numbers if one.share_truncated is not None]
    if cut:
        span = f"{cut[0]:.0%} of the first replies, {cut[-1]:.0%} of the last"
        sheet.show("truncated", span, usual=cut[-1] <= HALF)
        if cut[-1] > HALF:
            sheet.became(ENDLESS, f"{cut[-1]:.0%} of the last replies are cut{limit}")


def _spread(
    numbers: list[PolicyNumbers],
    sheet: Sheet,
    limit: float,
    group: int | None,
    spreads: Sequence[float],
) -> None:
    """Advantages that rounding or a wrong division makes, and how large they may be.

    Undivided, those of rewards in a small unit are small.
    """
    largest = max((one.advantage_max or 0.0 for one in numbers), default=0.0)
    are_alike = max(spreads, default=0.0) < (RESIDUE if math.isfinite(limit) else ROUNDING)
    if 0 < largest < RESIDUE < max(spreads, default=0.0):
        said = f"advantages are at most {largest:.1g}, and reward_std is up to {max(spreads):.2g}"
        sheet.find("advantages_vanish", MEASURED, said, place="advantages")
    elif 0 < largest < RESIDUE and spreads and are_alike:
        said = (
            f"advantages are up to {largest:.1g} and not 0 where all rewards of a group are alike"
        )
        sheet.find("tiny_std", MEASURED + 1, said, place="advantages, reward_std")
    elif not math.isfinite(largest) or largest > 1.1 * limit:
        said = f"an advantage of {largest:.3g}; of {group} replies none is beyond {limit:.3g}"
        sheet.find("tiny_std", MEASURED, said, place="advantages")
    elif largest:
        fine = f" (fine: up to {limit:.3g})" if math.isfinite(limit) else ""
        sheet.clear("advantages", f"up to {largest:.3g}{fine}")
    else:
        sheet.show("advantages", "all 0")


def _movement(numbers: list[PolicyNumbers], sheet: Sheet) -> None:
    """How far the updates between two batches move the policy on the sampled tokens."""
    moves = [m for one in numbers if (m := one.moved) is not None and math.isfinite(m)]
    if not moves:
        return
    said = f"an update moves its own replies by {median(moves):.2g} nats a token"
    if median(moves) > FAR or max(moves) > 5 * FAR:
        most = (
            f"up to {max(moves):.2g}, by update {moves.index(max(moves)) + 1} (fine: below {FAR:g})"
        )
        specimen = (f"nats a token by update: {in_order(moves)}",)
        place = "learning_rate"
        sheet.find("update_too_large", MEASURED, said, most, place=place, specimen=specimen)
        sheet.became(AWAY, said)
    elif median(moves):
        sheet.clear("updates", f"{said} (fine: below {FAR:g})")
    else:
        sheet.show("updates", said)
        sheet.became(STOOD, f"{said}, in the median")


def _length(numbers: list[PolicyNumbers], loss_type: str, sheet: Sheet, *, is_mixed: bool) -> None:
    """Replies grow under a loss that pays for it, which those that lose gain from.

    Args:
        is_mixed: whether the prompts come in any order; later ones may ask for longer replies.
    """
    lengths = [one.length for one in numbers if one.length is not None]
    loses = [one.long_loses for one in numbers if one.long_loses is not None]
    third = len(lengths) // 3
    if third < 2:
        return
    early, late = fmean(lengths[:third]), fmean(lengths[-third:])
    is_paid = is_mixed and (not loses or fmean(loses) > AS_LONG)
    if late > LONGER * early and is_paid:
        said = f"loss_type {loss_type!r}; replies grow from {early:.3g} to {late:.3g} tokens"
        more = (f"losing replies are {fmean(loses):.2g} times as long",) if loses else ()
        sheet.find("length_is_paid", LIKELY + 1, said, *more, place="loss_type")
        sheet.became(GREW, f"replies of {early:.3g} and then {late:.3g} tokens")
    else:
        sheet.show("length", f"{early:.3g} tokens in the first third, {late:.3g} in the last")
