"""GRPO and PPO: replies that are cut, alike, or scored by another engine."""

import math
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, share, thirds, trend

AGREE = 0.02  # nats per token between two engines with the same weights
FEW, CUT, POOR = 6, 0.2, 0.05  # entries; share of cut replies; mean reward
CUT_WHY = (
    "a good part of the replies is cut at the length limit: they hold no answer, and what they are "
    "scored hides what the others earn"
)
CUT_ADVICE = (
    "allow longer replies, or let length cost something, or leave cut replies out of the loss"
)
EARNS = 0.1  # more, of what it was, or of the most that can be
FULL = 0.9  # of a reward that is 1 at most
FLIPPED = 0.5  # nats in one token, which rounding alone seldom makes
CERTAIN_OF_TOKENS = (
    "the entropy falls to almost 0: the policy becomes certain of nearly every token, and explores "
    "less and less"
)
RISE = 1.2  # times the third before
LEAN = 0.02  # of a mean ratio from 1, on one side throughout


def entropy_gone(log: Log) -> Finding | None:
    """A policy's entropy falls to almost 0; a supervised run's does so where it learns."""
    levels = thirds(log.values("entropy")) if log.kind() == "policy" else None
    if levels is None or levels[0] <= 0 or levels[2] > 0.15 * levels[0]:
        return None
    entry = log.series("entropy")[-1][0]
    proof = [f"entropy {levels[0]:.3g} in the first third, {levels[2]:.3g} in the last"]
    spreads = thirds(log.values("reward_std"))
    if spreads and spreads[2] < 0.5 * spreads[0]:
        proof.append(f"reward_std {spreads[0]:.3g}, then {spreads[2]:.3g}")
    if _has_learnt(log):
        return None
    if spreads and spreads[2] >= 0.5 * spreads[0] > 0:
        against = (f"reward_std {spreads[0]:.3g}, then {spreads[2]:.3g}: rewards still differ",)
        return Finding("entropy_gone", 5.0, entry, tuple(proof), against, why=CERTAIN_OF_TOKENS)
    return Finding("entropy_gone", 5.0, entry, tuple(proof))


def _has_learnt(log: Log) -> bool:
    """Whether the policy became certain of what earns more, and goes on to earn it.

    From the first third of the log to the last its reward climbs by more than rewards differed at
    first, or by a fifth from each third to the next, or to nearly all that there is.
    """
    rewards, spreads = thirds(log.values("reward")), thirds(log.values("reward_std"))
    if rewards is None or rewards[0] >= rewards[1]:
        return False
    climbed, lost = rewards[2] - rewards[0], rewards[1] - rewards[2]
    if rewards[2] > FULL and max(finite(log.values("reward"))) <= 1:
        return True
    if spreads and climbed > spreads[0] > 0:
        return lost < EARNS * climbed
    return rewards[0] >= 0 and rewards[1] * RISE < rewards[2]


def replies_cut(log: Log) -> Finding | None:
    ends = log.series("num_eos")
    if ends and all(number == 0 for _, number in ends):
        proof = f"{said(ends[0][0], 'num_eos')} in all {len(ends)} entries: no reply ends by itself"
        return Finding("replies_cut", 4.5, ends[0][0], (proof,))
    series = [(e, v) for e, v in log.series("truncated_share") if math.isfinite(v)]
    high = [(entry, value) for entry, value in series if value >= 0.4]
    if not high or share(high, series) < 0.3:
        return _cut_and_poor(*series[-1]) if 0 < len(series) < FEW else None
    entry = high[0][0]
    if not _earn_nothing(series) and _pays(log, [value for _, value in series]):
        return None
    if len(high) == len(series) and min(v for _, v in high) >= 0.95:
        rewards = {e.numbers.get("reward") for e, _ in high}
        if rewards == {0.0}:
            least = min(high, key=lambda pair: pair[1])[0]
            shown = said(least, "reward", "truncated_share")
            proof = f"in all {len(high)} entries: {shown} at least"
            return Finding("rewards_cut", 8.0, entry, (proof,))
    cut = [e for e, v in series if v >= 0.95]
    unpaid = [e for e in cut if e.numbers.get("reward") == 0]
    if len(unpaid) >= max(3, 0.7 * len(series)):
        shown = said(unpaid[0], "truncated_share", "reward")
        proof = f"{shown} in {len(unpaid)} of {len(series)} entries"
        return Finding("rewards_cut", 8.0, unpaid[0], (proof,))
    first = f"first {entry.where}: {said(entry, 'truncated_share')}"
    proof = [f"{len(high)} of {len(series)} entries, {first}"]
    return Finding("replies_cut", 4.5, entry, tuple(proof))


def _earn_nothing(series: list[tuple[Entry, float]]) -> bool:
    """Whether nearly all replies are cut in each entry, and most entries earn 0, the last too."""
    rewards = [entry.numbers.get("reward") for entry, _ in series]
    last = rewards[-max(3, len(rewards) // 3) :]
    is_cut = min(value for _, value in series) >= 0.95
    return is_cut and all(share([r for r in one if r == 0], one) > 0.5 for one in (rewards, last))


def _cut_and_poor(entry: Entry, cut: float) -> Finding | None:
    """A good part of the replies is cut in the last of few entries, and nothing is earned there."""
    if cut < CUT or entry.numbers.get("reward", 1.0) > POOR:
        return None
    proof = f"{entry.where}: {said(entry, 'truncated_share', 'reward')}"
    return Finding("replies_cut", 3.0, entry, (proof,), why=CUT_WHY, advice=CUT_ADVICE)


def _pays(log: Log, cut: list[float]) -> bool:
    """Whether the limit hides nothing from the reward, or ever less.

    The run earns more since its replies reach the limit, or while nearly all do, or it learns to
    end them; or it earns more than those that ended could, at 1 at most for each.
    """
    shares, rewards = thirds(cut), thirds(log.values("reward"))
    if not shares or not rewards:
        return False
    if shares[0] < 0.1 and rewards[2] > rewards[1] > rewards[0]:
        return True
    if shares[2] < min(0.4, shares[0], shares[1]) and rewards[2] > max(rewards[:2]):
        return True
    if rewards[0] > 0 and max(log.values("reward")) <= 1 and rewards[2] > 1 - shares[2] + EARNS:
        return True
    return min(shares[1:]) > 0.9 and rewards[2] - rewards[1] > EARNS * max(abs(rewards[1]), POOR)


def grows_into_the_limit(log: Log) -> Finding | None:
    """Length, share of cut replies and reward rise together."""
    cut = thirds(log.values("truncated_share"))
    length, reward = trend(log.values("length")), trend(log.values("reward"))
    if not cut or not length or not reward or cut[2] < 0.4 or cut[0] > 0.5 * cut[2]:
        return None
    if length[2] < 1.5 * length[0] or reward[2] <= reward[0]:
        return None
    entry = next(e for e, v in log.series("truncated_share") if v >= 0.4)
    proof = (
        f"{said(entry, 'truncated_share')} at {entry.where}; by thirds {listed(cut)}",
        f"length by thirds {listed(length)}, the reward {listed(reward)}",
    )
    return Finding("length_into_limit", 6.0, entry, proof)


def agrees_too_well(log: Log) -> Finding | None:
    """Replies are all cut and earn 0, and two engines agree to the last bit: they gave only nan."""
    series = log.series("logp_difference")
    if len(series) < 2 or any(value != 0 for _, value in series):
        return None
    if set(log.values("truncated_share")) != {1.0} or set(log.values("reward")) != {0.0}:
        return None
    entry = series[0][0]
    names = ("logp_difference", "truncated_share", "reward")
    proof = (
        f"{said(entry, *names)} in all {len(series)} entries",
        "two engines never agree to the last bit; TRL writes 0 where all log-probs are nan",
    )
    return Finding("sampler_not_finite", 8.5, entry, proof)


def prompts_come_again(log: Log) -> Finding | None:
    """Engine and trainer agree while each prompt comes for the first time, and then no longer.

    Old weights drift away within the first epoch; keys that a cache keeps differ from the second.
    """
    series = [(e, v) for e, v in log.series("logp_difference") if "epoch" in e.numbers]
    first = [value for entry, value in series if entry.numbers["epoch"] <= 1]
    after = [(entry, value) for entry, value in series if entry.numbers["epoch"] > 1]
    if len(first) < 3 or len(after) < 3 or not all(math.isfinite(v) for _, v in series):
        return None
    soon = fmean(value for _, value in after[: len(first)])
    if max(first) >= AGREE or soon < max(AGREE, 5 * max(first)):
        return None
    entry = after[0][0]
    proof = (
        f"epoch 1, in which each prompt is new: at most {max(first):.2g} in {len(first)} entries",
        f"after it {soon:.2g} on average; {entry.where}: {said(entry, 'logp_difference')}",
    )
    rival = "a weight sync that stopped working after the first epoch would give the same numbers"
    return Finding("prefix_cache_kept", 6.5, entry, proof, (rival,))


def engines_disagree(log: Log) -> Finding | None:
    for name, is_bad in (
        ("importance_ratio", lambda value: not 0.9 < value < 1.1),
        ("logp_difference", lambda value: value > 0.1),
        ("probability_difference", lambda value: value > 0.02),  # verl's FAQ: below 0.005
        ("probability_correlation", lambda value: value < 0.95),
    ):
        bad = [entry for entry, value in log.series(name) if is_bad(value)]
        if bad and share(bad, log.series(name)) > 0.3:
            proof = f"{len(bad)} of {len(log.series(name))} entries, first {bad[0].where}: "
            return Finding("engines_disagree", 6.0, bad[0], (proof + said(bad[0], name),))
    return None


def routes_flip(log: Log) -> Finding | None:
    """In a mixture of experts two engines agree on nearly all tokens, and are far apart in few."""
    series = [(e, v) for e, v in log.series("logp_difference_max") if math.isfinite(v)]
    means = [value for _, value in log.series("logp_difference")]
    far = [entry for entry, value in series if value > FLIPPED]
    if "router_loss" not in log.fields or len(series) < 6 or not means or max(means) > 0.1:
        return None
    if share(far, series) < 0.1 or fmean(means) > AGREE:
        return None
    entry = max(series, key=lambda one: one[1])[0]
    proof = (
        f"{entry.where}: {said(entry, 'logp_difference_max')} in one token, and "
        f"{fmean(means):.2g} on average",
        f"{len(far)} of {len(series)} entries have a token above {FLIPPED:g}",
        f"{said(entry, 'router_loss')}: the model has experts",
    )
    rival = "rounding of rare tokens gives the same numbers: only the routes of both engines tell"
    return Finding("routing_flips", 4.0, entry, proof, (rival,))


def ratio_leans(log: Log) -> Finding | None:
    """The mean ratio is on one side of 1 in every entry: the mean of p/q under q is 1."""
    series = [(e, v) for e, v in log.series("importance_ratio") if math.isfinite(v)]
    ratios = [ratio for _, ratio in series]
    if len(ratios) < 3 or not (min(ratios) > 1 or max(ratios) < 1):
        return None
    mean = sum(ratios) / len(ratios)
    if abs(mean - 1) < LEAN or abs(mean - 1) >= 0.1:  # engines_disagree
        return None
    entry = max(series, key=lambda one: abs(one[1] - 1))[0]
    side = "above" if mean > 1 else "below"
    proof = (
        f"the mean ratio is {side} 1 in all {len(ratios)} entries, {mean:.3f} on average; "
        f"{said(entry, 'importance_ratio')} at {entry.where}"
    )
    return Finding("engines_disagree", 5.0, entry, (proof, "of equal engines it is 1 on average"))


RULES = (
    entropy_gone,
    replies_cut,
    grows_into_the_limit,
    agrees_too_well,
    prompts_come_again,
    engines_disagree,
    routes_flip,
    ratio_leans,
)
