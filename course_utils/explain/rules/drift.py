"""GRPO and PPO: a drifting policy: rising entropy, clipping, replies that shrink to nothing."""

import math
from itertools import pairwise
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import change, listed, said, share, thirds, trend

ENGINES = {
    *("importance_ratio", "logp_difference", "probability_difference"),
    *("rollout_kl", "token_error"),
}
GROWN, LEAST_APART = 5.0, 1e-3  # times the first difference; what two engines always have
STILL_COUNT, MANY_FOLD = 0.8, 4.0  # of the samples; times the first third, by the last one
STEADY = 0.2, 0.8  # of the last third: where the middle one stands
FEW_TOKENS, SILENCE = 5.0, 2.0  # tokens of a reply; the end is one of them
ROUNDED = 1e-2  # nats: rounding alone may go so far below 0
NEAR_ONE, DEAD = 1.25, 0.1  # of a mean ratio at first; what is left of it at the end
HALVED = 0.6  # of the tokens of the entry before
STAYS = 0.15  # of a level: how far that of replies moves by chance
NEVER_SENT = (
    "the sampler does not get the weights that are trained: it agrees with the trainer at first "
    "and moves away with every update, while its replies stay as they were, so it goes on with the "
    "weights that it was loaded with. Another temperature or template would show from the first "
    "entry on, and stay"
)


def entropy_below_0(log: Log) -> Finding | None:
    """The entropy of a distribution over tokens is 0 at least, so a negative one is miscounted."""
    series = log.series("entropy")
    low = [entry for entry, value in series if -math.inf < value < -ROUNDED]
    if len(low) < 2 or share(low, series) < 0.5:
        return None
    proof = f"{len(low)} of {len(series)} entries, first {low[0].where}: {said(low[0], 'entropy')}"
    return Finding("entropy_impossible", 8.0, low[0], (proof,))


def entropy_runs(log: Log) -> Finding | None:
    """The entropy grows by a tenth while the reward falls, or twofold while it does not rise."""
    entropies = trend(log.values("entropy"))
    if log.kind() != "policy" or not entropies or entropies[2] < 1.1 * entropies[0]:
        return None
    entry = log.series("entropy")[-1][0]
    grown = f"entropy by thirds of the log {listed(entropies)}: {said(entry, 'entropy')} at the end"
    for name in ("reward", "eval_accuracy"):
        levels = trend(log.values(name))
        if levels and levels[2] < levels[0]:
            fallen = f"{name} falls with it: {listed(levels)}"
            return Finding("entropy_runs", 6.5, entry, (grown, fallen))
    levels = thirds(log.values("reward"))
    if not levels or entropies[2] < 2 * entropies[0] or levels[2] > 1.05 * levels[0]:
        return None
    moved = "is lower at the end" if levels[2] < levels[0] else "does not rise"
    told = f"the reward {moved}, by thirds of the log: {listed(levels)}"
    return Finding("entropy_runs", 4.5, entry, (grown, told))


def engines_unseen(log: Log) -> Finding | None:
    """What else lets the entropy grow: replies of another distribution; the log shows no ratio."""
    runs = entropy_runs(log)
    if runs is None or log.fields & ENGINES:
        return None
    against = ("no ratio of sampler and trainer is logged: log it to tell",)
    return Finding("engines_disagree", 2.5, runs.at, runs.for_it[:1], against)


def much_is_clipped(log: Log) -> Finding | None:
    """A third of the tokens or more are clipped, throughout."""
    series = [(e, v) for e, v in log.series("clip_ratio") if math.isfinite(v)]
    if len(series) < 3 or sorted(value for _, value in series)[len(series) // 2] < 0.3:
        return None
    entry = max(series, key=lambda one: one[1])[0]
    proof = f"the middle of {len(series)} entries is above 0.3: {said(entry, 'clip_ratio')}"
    return Finding("much_is_clipped", 4.5, entry, (f"{proof} at {entry.where}",))


def replies_vanish(log: Log) -> Finding | None:
    """Replies shrink to almost nothing and are paid better for it; none was cut at the limit."""
    lengths, rewards = trend(log.values("length")), trend(log.values("reward"))
    cut = finite(log.values("truncated_share"))
    if not lengths or not rewards or rewards[2] <= rewards[0] or (cut and cut[0] > 0.3):
        return None
    is_silent = lengths[2] <= SILENCE and lengths[2] <= 0.7 * lengths[0]
    if not is_silent and (lengths[2] > FEW_TOKENS or lengths[2] > 0.4 * lengths[0]):
        return None
    entry = log.series("length")[-1][0]
    proof = (
        f"replies shrink: {listed(lengths)} tokens by thirds of the log",
        f"the reward rises meanwhile: {listed(rewards)}",
    )
    return Finding("reward_pays_junk", 6.0, entry, proof)


def length_without_reward(log: Log) -> Finding | None:
    """Replies grow by half or more for good, and what they earn does not rise, however little.

    Replies that are half as long from one entry to the next follow their prompts; and where an
    evaluation rises, their length is not all that is learnt.
    """
    lengths, rewards = finite(log.values("length")), thirds(log.values("reward"))
    if len(lengths) < 12 or not rewards:
        return None
    judged = change(log.values("eval_accuracy"))
    if any(now < HALVED * before for before, now in pairwise(lengths)):
        return None
    if judged and judged[1] > judged[0]:
        return None
    early, late = fmean(lengths[: len(lengths) // 6]), lengths[-(len(lengths) // 3) :]
    rises = rewards[2] > rewards[1] > rewards[0]
    if fmean(late) < 1.6 * early or min(late) <= early or rises:
        return None
    entry = log.series("length")[-1][0]
    proof = (
        f"replies grow from {early:.3g} tokens at first to {fmean(late):.3g} in the last third",
        f"the reward does not rise with them: {listed(rewards)} by thirds",
    )
    return Finding("length_is_paid", 4.5, entry, proof)


def sampler_stands(log: Log) -> Finding | None:
    """Sampler and trainer move apart, and what the sampler evaluates repeats to the last digit."""
    judged = log.series("eval_accuracy")
    values = {value for _, value in judged}
    if len(judged) < 3 or len(values) > 1 or not _has_digits(judged[0][1]):
        return None
    for name in ("probability_difference", "logp_difference"):
        apart = log.series(name)
        grows = len(apart) >= 3 and apart[-1][1] > GROWN * max(apart[0][1], LEAST_APART)
        if not grows:
            continue
        entry = next(e for e, v in apart if v > GROWN * max(apart[0][1], LEAST_APART))
        proof = (
            f"{said(judged[0][0], 'eval_accuracy')} in all {len(judged)} evaluations, to the last "
            "digit: what is sampled does not change",
            f"{said(apart[0][0], name)} at {apart[0][0].where}, {said(apart[-1][0], name)} at "
            f"{apart[-1][0].where}: the trainer's weights do",
        )
        return Finding("stale_sampler", 7.5, entry, proof)
    return None


def sampler_falls_behind(log: Log) -> Finding | None:
    """The difference of sampler and trainer grows steadily, and fewer and fewer samples count."""
    counts = trend(log.values("effective_share"))
    if counts is None or counts[2] > STILL_COUNT * counts[0]:
        return None
    for name in ("rollout_kl", "logp_difference", "probability_difference"):
        series, levels = log.series(name), trend(log.values(name))
        if levels is None or not 0 < levels[0] < levels[2] / MANY_FOLD:
            continue
        if not levels[2] * STEADY[0] < levels[1] < levels[2] * STEADY[1]:
            continue  # it jumps, or has come to rest
        first, last = series[0], series[-1]
        proof = (
            f"{said(first[0], name)} at {first[0].where}, {said(last[0], name)} at "
            f"{last[0].where}; by thirds of the log {listed(levels)}",
            f"the effective sample size falls with it: {listed(counts)} by thirds",
        )
        return Finding("stale_sampler", 7.0, last[0], proof)
    return None


def ratio_dies(log: Log) -> Finding | None:
    """The mean ratio of trainer by sampler begins near 1 and falls to next to nothing."""
    series = [(e, v) for e, v in log.series("importance_ratio") if 0 < v < math.inf]
    levels = trend([math.log(ratio) for _, ratio in series])
    if levels is None or not 1 / NEAR_ONE < series[0][1] < NEAR_ONE or levels[2] > math.log(DEAD):
        return None
    if levels[2] > levels[0]:
        return None
    (first, _), (last, _) = series[0], series[-1]
    proof = (
        f"{said(first, 'importance_ratio')} at {first.where}, "
        f"{said(last, 'importance_ratio')} at {last.where}: they agree at first, and move apart "
        "with every update",
    )
    if replies := replies_stay(log):
        turned = next(e for e, ratio in series if ratio < 1 / NEAR_ONE)
        return Finding("stale_sampler", 7.4, turned, (*proof, *replies), why=NEVER_SENT)
    rival = "a run that breaks moves apart as well: one weight in both, after an update, tells"
    return Finding("stale_sampler", 6.5, last, proof, (rival,))


def replies_stay(log: Log) -> tuple[str, ...]:
    """Reward and length by thirds, where neither moves though the rate is above 0."""
    rates = finite(log.values("learning_rate"))
    if not rates or max(rates) <= 0:
        return ()
    levels = [thirds(log.values(name)) for name in ("reward", "length")]
    if not all(levels) or any(abs(one[2] - one[0]) > STAYS * abs(one[0]) for one in levels):
        return ()
    reward, length = levels
    return (
        f"the replies stay as they were: reward {listed(reward)}, length {listed(length)} by "
        f"thirds, at learning_rate up to {max(rates):.2g}",
    )


def _has_digits(value: float) -> bool:
    """Whether a share has so many digits that two evaluations do not agree by chance."""
    return len(f"{value:.10g}".replace(".", "").strip("0")) >= 4


RULES = (
    entropy_below_0,
    sampler_stands,
    sampler_falls_behind,
    ratio_dies,
    entropy_runs,
    engines_unseen,
    much_is_clipped,
    replies_vanish,
    length_without_reward,
)
