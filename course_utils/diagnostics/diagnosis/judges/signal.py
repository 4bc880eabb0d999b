"""Judges whether rewards separate the replies to one prompt, and if not, why."""

from statistics import fmean

from course_utils.causes.harms import SAMPLING
from course_utils.diagnostics.diagnosis.measures.last_replies import LastReplies
from course_utils.diagnostics.diagnosis.measures.policy_numbers import PolicyNumbers
from course_utils.diagnostics.diagnosis.measures.within_rows import gap_within
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet

DEAD = 0.95  # share of the groups without a signal, and of replies that are cut
SOLVED, FULL = 0.6, 0.9  # share of dead groups, and of the largest reward, from the start on
HALF = 0.5  # with fewer dead groups a run is as usual
SILENT, MORE = 0.8, 0.2  # share of empty replies in the last third, and more than in the first
USUAL = 0.9  # of a temperature: from there on sampling is not greedy by itself
GREEDY = 1.5  # different texts in a group, on average: below that sampling is all but greedy


def judge_signal(numbers: list[PolicyNumbers], replies: LastReplies | None, sheet: Sheet) -> None:
    """Write down the share of groups whose advantages are all 0."""
    shares = [one.share_no_signal for one in numbers if one.share_no_signal is not None]
    if not shares:
        return
    if _are_masked(numbers, sheet):
        return
    share = fmean(shares)
    hint = sheet.hints.get("no_signal")
    if not hint and share > SOLVED and (full := _is_full(numbers, replies)):
        _solved(share, full, replies, sheet)
        return
    if share <= DEAD or len(shares) < 2:
        number = f"{1 - share:.0%} of the groups (fine: more than half)"
        write = sheet.clear if share <= HALF else sheet.show
        write("groups with a signal", number)
        if share > HALF and not hint:  # the log may call it a cause, and has seen no reply
            what, fix = _mechanism(numbers, replies)
            sheet.hint("no_signal", what, fix, *(replies.specimen() if replies else ()))
        return
    why, fix, *specimen = hint or _mechanism(numbers, replies)
    sheet.find(
        "no_signal",
        COUNTED,
        f"{share:.0%} of the groups have advantages that are all 0",
        *([f"the last replies earn {replies.earned}"] if replies else []),
        place="advantages",
        where=SAMPLING if not hint and _are_alike(replies) else "",
        why=why,
        advice=fix,
        specimen=(*specimen, *(replies.specimen() if replies else ())),
    )


def _are_masked(numbers: list[PolicyNumbers], sheet: Sheet) -> bool:
    """Name replies of which hardly one is in the loss: what they earn then teaches nothing."""
    masked = [one.share_masked for one in numbers if one.share_masked is not None]
    if not masked or fmean(masked) <= DEAD:
        return False
    sheet.find(
        "replies_masked",
        COUNTED,
        f"{fmean(masked):.0%} of the replies have no token in the loss",
        place="completion_mask, mask_truncated_completions",
    )
    return True


def _is_full(numbers: list[PolicyNumbers], replies: LastReplies | None) -> str:
    """Why nothing is left to earn: all batches, the first too, earn the maximum; else ""."""
    earned = [one.reward for one in numbers if one.reward is not None]
    if not earned or replies is None or not replies.rewards:
        return ""
    most, least = max(replies.rewards), min(earned[0], fmean(earned))
    if most <= 0 or least <= FULL * most:
        return ""
    return f"the first replies earn {earned[0]:.3g} of {most:.3g}, all batches {fmean(earned):.3g}"


def _solved(share: float, full: str, replies: LastReplies, sheet: Sheet) -> None:
    sheet.find(
        "no_signal",
        COUNTED,
        f"{share:.0%} of the groups have advantages that are all 0",
        full,
        place="advantages, frac_reward_zero_std",
        why="the prompts are solved before the training begins: most groups teach nothing",
        advice="prompts that the policy solves sometimes",
        specimen=replies.specimen(),
    )


def _mechanism(numbers: list[PolicyNumbers], replies: LastReplies | None) -> tuple[str, str]:
    """Why the replies of a group earn alike, and the fix; "" if that is unknown."""
    cut = [one.share_truncated for one in numbers if one.share_truncated is not None]
    if cut and fmean(cut) > DEAD:
        limit = replies.limit if replies else None
        at = f" ({limit} tokens)" if limit else ""
        return (
            f"{fmean(cut):.0%} of the replies are cut at the length limit{at}, and earn alike",
            f"max_completion_length={limit} -> {4 * limit}"
            if limit
            else "allow replies that are long enough to end",
        )
    if replies is None:
        return "the replies of a group earn alike", ""
    if replies.is_unscored:
        return (
            "no reward function gives a score: each returns None for every reply",
            "return a number, 0.0 for what cannot be judged",
        )
    return _greedy(replies) if _are_alike(replies) else _of_rewards(replies)


def _of_rewards(replies: LastReplies) -> tuple[str, str]:
    """Why replies that differ earn alike, and the fix."""
    if earned := replies.clipped_alike:
        return (
            f"the reward functions give {earned}, and reward_clip_range={replies.clip_range} makes "
            "one number of all of them",
            "a reward_clip_range that holds the rewards, or none",
        )
    if replies.differs_between_groups:
        return (
            f"the reward differs between prompts ({replies.earned}) and not between the replies to "
            "one: it does not read the reply",
            "let the reward function score the completion; a cache of scores needs the completion "
            "in its key",
        )
    differ = f"the replies differ, and every one of them earns {replies.earned}"
    if replies.are_messages and any(replies.rewards or ()):
        return (
            f"{differ}: with prompts that are messages a reward function gets each reply as a list "
            "of messages, and what it takes from that list (its length, say) is no text",
            "reply[0]['content'] for each reply in the reward function; print its first element",
        )
    return (
        differ,
        "prompts that the model solves sometimes: harder ones where it earns all, easier ones "
        "where it earns nothing",
    )


def _are_alike(replies: LastReplies | None) -> bool:
    """Whether the replies to a prompt are one text, or nearly so."""
    return replies is not None and replies.share_distinct * replies.group < GREEDY


def _greedy(replies: LastReplies) -> tuple[str, str]:
    """Why all replies to a prompt are one text, and the fix."""
    alike = f"the {replies.group} replies to a prompt are one and the same text"
    if setting := replies.takes_the_likeliest:
        return f"{alike}: {setting} takes the likeliest token each time", f"no {setting}"
    if replies.temperature < USUAL:
        at = f"at temperature {replies.temperature:g}"
        fix = f"temperature={replies.temperature:g} -> 1"
        return f"{alike}: {at} sampling is all but greedy", fix
    return (
        f"{alike}, at temperature {replies.temperature:g}: the policy is certain of each token, or "
        "something else makes sampling greedy",
        "look at the settings of the generation (top_k, top_p); a policy that is less certain: a "
        "smaller rate, or the weights of an earlier step",
    )


def judge_silence(numbers: list[PolicyNumbers], replies: LastReplies | None, sheet: Sheet) -> None:
    """A policy that has learnt to say nothing: it is rewarded for that, or it has collapsed."""
    empty = [one.share_empty for one in numbers if one.share_empty is not None]
    rewards = [one.reward for one in numbers if one.reward is not None]
    third = len(empty) // 3
    if third < 2:
        return
    first, last = fmean(empty[:third]), fmean(empty[-third:])
    early, late = (fmean(part) if part else 0.0 for part in (rewards[:third], rewards[-third:]))
    is_paid = late > early
    is_silent = last > SILENT and last > first + MORE and len(rewards) == len(empty)
    if not is_silent or (is_paid and _words_earn_more(replies)):
        sheet.show(
            "empty replies",
            f"{first:.0%} in the first third of the batches, {last:.0%} in the last",
        )
        return
    sheet.find(
        "reward_pays_junk" if is_paid else "collapse",
        MEASURED,
        f"empty replies: {first:.0%} of those of the first third of the batches, {last:.0%} of "
        "the last",
        f"the mean reward meanwhile: {early:.3g} to {late:.3g}",
        place="rewards",
        why="the policy learns to say nothing, "
        + ("and earns more by it" if is_paid else "and earns less by it"),
        advice="let an empty reply earn less than any right one" if is_paid else "",
        specimen=replies.specimen() if replies else (),
    )


def _words_earn_more(replies: LastReplies | None) -> bool:
    """Whether words earn more than silence where a prompt got both: silence is right elsewhere."""
    if replies is None or replies.rewards is None:
        return False
    pairs = list(zip(replies.texts, replies.rewards, strict=False))
    groups = [pairs[at : at + replies.group] for at in range(0, len(pairs), replies.group)]
    mixed = [
        ([r for text, r in one if text.strip()], [r for text, r in one if not text.strip()])
        for one in groups
    ]
    mixed = [kinds for kinds in mixed if all(kinds)]
    return bool(mixed) and gap_within(mixed)[0] > 0
