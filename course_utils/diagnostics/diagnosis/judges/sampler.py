"""Judges a run's sampler: other log-probs than the trainer's, old weights, numbers not finite."""

from statistics import fmean

from course_utils.diagnostics.diagnosis.measures.policy_numbers import FAR_TOKEN, PolicyNumbers
from course_utils.diagnostics.diagnosis.measures.sampler_weights import broken_weights
from course_utils.diagnostics.diagnosis.measures.specimens import in_order
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

APART = 0.02  # nats per token; float32 engines agree to 1e-5, bfloat16 ones to about 0.01
GROWS = 3.0
FEW = 5  # tokens below which nothing is said of routes
ANY_OF = (
    "another number format, template or penalty in the sampler, or weights that were never alike; "
    "compare_policies(sampler, scorer, prompts) tells which"
)
ZEROS = (
    "a block of weights that are all 0 was quantised: its scale is 0, and 0 / 0 is nan in the "
    "sampler's weights, so its replies are one token again and again"
)
CLAMP = "in the quantiser clamp the largest value of a block by 1e-12 before it is made a scale"


def judge_agreement(numbers: list[PolicyNumbers], shape: tuple[str, str], sheet: Sheet) -> None:
    """Compare the log-probs of sampler and trainer; `shape` says how they differ, and the fix."""
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
