"""Judges a run's replies: wrong distribution, old weights, no signal, tiny spreads."""

import math
from collections.abc import Sequence
from statistics import fmean, median

from course_utils.diagnostics.diagnosis.judges.signal import judge_signal, judge_silence
from course_utils.diagnostics.diagnosis.judges.unended import judge_unended
from course_utils.diagnostics.diagnosis.measures.last_replies import LastReplies
from course_utils.diagnostics.diagnosis.measures.policy_numbers import FAR_TOKEN, PolicyNumbers
from course_utils.diagnostics.diagnosis.measures.sampler_weights import broken_weights
from course_utils.diagnostics.diagnosis.measures.specimens import in_order
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import AWAY, ENDLESS, STOOD
from course_utils.diagnostics.diagnosis.sheet.harm import LONGER as GREW
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.policy import Replies
from course_utils.diagnostics.libraries.trl import loss_type_of, not_kept, scale_of

APART = 0.02  # nats per token; float32 engines agree to 1e-5, bfloat16 ones to about 0.01
GROWS = 3.0
RESIDUE = 1e-2  # an advantage below this is what rounding leaves of 0
FAR = 0.7  # nats per token between two batches: each probability halves or doubles
ANY_OF = (
    "another number format, template or penalty in the sampler, or weights that were never alike; "
    "compare_policies(sampler, scorer, prompts) tells which"
)
FEW = 5  # tokens below which nothing is said of routes
HALF = 0.5  # of the replies
ZEROS = (
    "a block of weights that are all 0 was quantised: its scale is 0, and 0 / 0 is nan in the "
    "sampler's weights, so its replies are one token again and again"
)
CLAMP = "in the quantiser clamp the largest value of a block by 1e-12 before it is made a scale"
USUAL = 0.1  # of the first entropy, by which the last may differ
LONGER = 1.3  # mean length of the last third by that of the first
WEIGHED_BY_ROW = ("grpo", "sapo")  # a token counts by one over the length of its reply


def judge_policy(subject: Subject, replies: Replies, sheet: Sheet) -> None:
    for error in replies.failures[:1]:
        sheet.fail("the replies", error)
    if not replies.numbers:
        return
    texts = replies.texts()
    if texts is None or not texts.is_unscored:
        replies.listing.hint(subject.trainer, sheet)
    judge_numbers(
        replies.numbers,
        sheet,
        scale=scale_of(subject.trainer),
        spreads=subject.logged("reward_std"),
        group=getattr(subject.trainer, "num_generations", None),
        replies=texts,
        shape=replies.shape,
    )
    judge_unended(subject.trainer, replies, sheet)
    replies.listing.judge(subject.trainer, sheet)
    judge_finite(subject, replies.numbers, sheet)
    if (loss_type := loss_type_of(subject.trainer)) in WEIGHED_BY_ROW:
        _length(replies.numbers, loss_type, sheet)
    for what, why in not_kept(subject.trainer).items():
        sheet.miss(what, why)


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
    _agreement(numbers, shape, sheet)
    judge_signal(numbers, replies, sheet)
    _spread(
        numbers, sheet, math.sqrt(group) if group and scale == "group" else 50.0, group, spreads
    )
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


def _agreement(numbers: list[PolicyNumbers], shape: tuple[str, str], sheet: Sheet) -> None:
    known = [one for one in numbers if one.logp_difference is not None]
    if not known:
        sheet.miss("the sampler's log-probs", "it does not give them")
        return
    if any(one.sampler_nan for one in known):
        return  # nan is compared with nothing
    first, last = known[0], known[-1]
    if routed := _by_route(known):
        sheet.find("routing_flips", MEASURED + 2, *routed, place="the routers (gate)")
        return
    if max(one.logp_difference for one in known) < APART:
        said = f"sampler and trainer differ by {last.logp_difference:.1g} nats a token"
        sheet.clear("log-probs", f"{said} (fine: below {APART:g})")
        return
    said = (
        f"sampler and trainer differ by {first.logp_difference:.2g} nats a token in the first "
        f"batch, {last.logp_difference:.2g} in the last (fine: below {APART:g})"
    )
    more = (
        f"mean of exp(trainer - sampler) {first.ratio:.3g} and {last.ratio:.3g} (1: one policy)",
        f"{last.rows_apart:.0%} of the last replies hold a token that differs by more than "
        f"{FAR_TOKEN:g} nats",
    )
    drift = in_order(one.logp_difference for one in known)
    seen = {"specimen": (f"nats a token by batch: {drift}",)}
    if by_prompt := _by_prompt(known):
        place = "the engine's prefix cache"
        sheet.find("prefix_cache_kept", COUNTED, by_prompt, *more, place=place, **seen)
    elif first.logp_difference < APART and last.logp_difference > GROWS * first.logp_difference:
        sheet.find("stale_sampler", COUNTED, said, *more, place="the sampler's weights", **seen)
    elif 0 < fmean(one.rows_apart for one in known) < 0.9 and _turns_inside(known):
        until = fmean(one.agrees_until for one in known if one.agrees_until is not None)
        test = f"a reply agrees on its first {until:.0%} and not behind: other tokens, not weights"
        sheet.find("retokenised", MEASURED, said, test, *more, place="completion_ids", **seen)
    else:
        seen |= {"why": shape[0], "advice": shape[1], "rivals": "" if shape[0] else ANY_OF}
        sheet.find("logp_disagree", MEASURED + 1, said, *more, place="sampler and trainer", **seen)


def _by_route(known: list[PolicyNumbers]) -> tuple[str, ...]:
    """Whether the tokens that disagree are those that the routers send to other experts."""
    count = sum(one.flipped for one in known)
    sums = [one.flipped * one.gap_flipped for one in known if one.gap_flipped is not None]
    others = [one.gap_routed for one in known if one.gap_routed is not None]
    if count < FEW or not others:
        return ()
    apart, rest = sum(sums) / count, fmean(others)
    if apart < FAR_TOKEN or apart < 5 * rest:
        return ()
    return (
        f"{count} tokens in {len(others)} batches go to other experts in the sampler than in the "
        f"trainer, and differ by {apart:.2g} nats on average; the others differ by {rest:.2g}",
    )


def judge_finite(subject: Subject, numbers: list[PolicyNumbers], sheet: Sheet) -> None:
    """Judge a sampler by its weights, if it is handed over, and by its log-probs."""
    broken = broken_weights(subject)
    shares = [one.sampler_nan for one in numbers if one.sampler_nan is not None]
    said = []
    if any(shares):
        said += [
            f"up to {max(shares):.0%} of the sampler's log-probs are nan or inf, in "
            f"{sum(map(bool, shares))} of {len(shares)} batches; the trainer's are finite"
        ]
    if broken:
        said += [broken.said]
    if said:
        of_zeros = {"why": ZEROS, "advice": CLAMP} if broken and broken.is_of_zeros else {}
        place = f"sampler: {broken.names[0]}" if broken else "the sampler's log-probs"
        sheet.find("sampler_not_finite", COUNTED, *said, place=place, **of_zeros)


def _by_prompt(known: list[PolicyNumbers]) -> str:
    """Whether prompts that come again disagree, and new ones agree although updates were taken."""
    new = [one.gap_new for one in known if one.gap_new is not None and one.moved]
    again = [one.gap_again for one in known if one.gap_again is not None]
    if len(new) < 2 or len(again) < 2 or fmean(again) < APART:
        return ""
    soon = fmean(again[: len(new)])  # old weights would have drifted as far by then, on new prompts
    if max(new) >= APART or soon < 5 * max(new):
        return ""
    return (
        f"prompts that an earlier batch had differ by {fmean(again):.2g} nats a token in "
        f"{len(again)} batches; new prompts by at most {max(new):.2g} in {len(new)} batches, "
        "although updates came before them (fine: below 0.02)"
    )


def _turns_inside(known: list[PolicyNumbers]) -> bool:
    """Whether replies agree exactly up to some token and then differ."""
    until = [one.agrees_until for one in known if one.agrees_until is not None]
    return bool(until) and fmean(until) > 0.05


def _spread(
    numbers: list[PolicyNumbers],
    sheet: Sheet,
    limit: float,
    group: int | None,
    spreads: Sequence[float],
) -> None:
    """Advantages that rounding or a wrong division makes, and how large they may be."""
    largest = max((one.advantage_max or 0.0 for one in numbers), default=0.0)
    if 0 < largest < RESIDUE < max(spreads, default=0.0):
        said = f"advantages are at most {largest:.1g}, and reward_std is up to {max(spreads):.2g}"
        sheet.find("advantages_vanish", MEASURED, said, place="advantages")
    elif 0 < largest < RESIDUE and spreads:
        said = (
            f"advantages are up to {largest:.1g} and not 0 where all rewards of a group are alike"
        )
        sheet.find("tiny_std", MEASURED + 1, said, place="advantages, reward_std")
    elif not math.isfinite(largest) or largest > 1.1 * limit:
        said = f"an advantage of {largest:.3g}; of {group} replies none is beyond {limit:.3g}"
        sheet.find("tiny_std", MEASURED, said, place="advantages")
    elif largest:
        sheet.clear("advantages", f"up to {largest:.3g} (fine: up to {limit:.3g})")
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


def _length(numbers: list[PolicyNumbers], loss_type: str, sheet: Sheet) -> None:
    """Replies grow under a loss that pays for it."""
    lengths = [one.length for one in numbers if one.length is not None]
    loses = [one.long_loses for one in numbers if one.long_loses is not None]
    third = len(lengths) // 3
    if third < 2:
        return
    early, late = fmean(lengths[:third]), fmean(lengths[-third:])
    if late > LONGER * early:
        said = f"loss_type {loss_type!r}; replies grow from {early:.3g} to {late:.3g} tokens"
        more = (f"losing replies are {fmean(loses):.2g} times as long",) if loses else ()
        sheet.find("length_is_paid", LIKELY + 1, said, *more, place="loss_type")
        sheet.became(GREW, f"replies of {early:.3g} and then {late:.3g} tokens")
    else:
        sheet.show("length", f"{early:.3g} tokens in the first third, {late:.3g} in the last")
