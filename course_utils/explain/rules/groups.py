"""GRPO and PPO: what a group of replies teaches, and whether its gradient arrives."""

import math
from itertools import pairwise
from statistics import fmean

from course_utils.explain.finding import LOOK, Finding
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said, share

SMALL = 1e-3
_TOO = {True: "easy", False: "hard"}
MOSTLY_TIED = 0.9  # of the groups
BY_CHANCE = 1e-3  # that the last steps of all entries had no group that differed
RESIDUE = 1e-6  # of a reward_std: rounding, and not a difference between replies


OFF_POLICY = 0.5  # an importance ratio: below it another policy has sampled


def zero_loss_on_policy(log: Log) -> Finding | None:
    """The loss is nearly 0; grad_norm is not, or kl grows, so the policy moves."""
    losses = log.series("loss")
    small = [entry for entry, loss in losses if abs(loss) < SMALL]
    spreads = finite(log.values("reward_std"))
    if not _has_rewards(log) or share(small, losses) < 0.5 or (spreads and max(spreads) == 0):
        return None
    ratios = finite(log.values("importance_ratio"))
    if ratios and min(ratios) < OFF_POLICY:
        return None
    norms = finite(e.numbers["grad_norm"] for e in small if e.numbers.get("grad_norm"))
    kls = finite(log.values("kl"))
    moves = len(kls) > 2 and 1 > kls[-1] > max(10 * kls[0], 1e-4)
    if not norms and not ("grad_norm" not in log.fields and moves):
        return None
    proof = [f"the loss is below {SMALL:g} in {len(small)} of {len(losses)} entries"]
    if norms:
        proof.append(f"grad_norm there is {min(norms):.3g} to {max(norms):.3g}")
    if moves:
        proof.append(f"kl goes from {kls[0]:.3g} to {kls[-1]:.3g}: the policy moves")
    if spreads:
        proof.append(f"replies are told apart: reward_std up to {max(spreads):.3g}")
    return Finding("on_policy_zero_loss", 4.0, small[0], tuple(proof))


def no_signal(log: Log) -> Finding | None:
    """Groups without variance: reward_std 0, or frac_reward_zero_std near 1."""
    for name, is_dead in (
        ("zero_std_share", lambda value: value > 0.99),
        ("reward_std", lambda value: value == 0),
        ("advantage_max", lambda value: value == 0),
    ):
        series = log.series(name)
        dead = [entry for entry, value in series if is_dead(value)]
        if not dead or share(dead, series) < 0.5 or math.isnan(dead[0].numbers.get("loss", 0)):
            continue
        if len(dead) < 3 and not (len(dead) == len(series) and all(map(_teaches_nothing, dead))):
            continue
        proof = [
            f"{len(dead)} of {len(series)} entries, first {dead[0].where}: {said(dead[0], name)}"
        ]
        rewards = [entry.numbers["reward"] for entry in dead if "reward" in entry.numbers]
        if rewards:
            proof.append(f"the reward there is {rewards[0]:.3g}")
        if "grad_norm" in dead[0].numbers:
            proof.append(said(dead[0], "grad_norm"))
        return Finding("no_signal", 7.0, dead[0], tuple(proof))
    return _all_rewards_0(log)


def _teaches_nothing(entry: Entry) -> bool:
    """No gradient in this entry, or a policy loss of 0 from advantages of 0."""
    if entry.numbers.get("grad_norm") == 0:
        return True
    return entry.numbers.get("advantage_max") == 0 == entry.numbers.get("policy_loss")


def _all_rewards_0(log: Log) -> Finding | None:
    rewards = log.values("reward")
    if "reward_std" in log.fields or len(rewards) < 3 or set(rewards) != {0.0}:
        return None
    entry = log.series("reward")[0][0]
    return Finding("no_signal", LOOK, entry, (f"reward 0 in all {len(rewards)} entries",))


def too_easy(log: Log) -> Finding | None:
    """Most groups are tied from the first entry on, and the reward is full or gone."""
    series = [(e, v) for e, v in log.series("zero_std_share") if math.isfinite(v)]
    shares, rewards = [share for _, share in series], finite(log.values("reward"))
    if len(shares) < 3 or min(shares) < 0.5 or fmean(shares) < 0.7 or not rewards:
        return None
    level = fmean(rewards)
    if 0.1 < level < 0.9:
        return None
    entry = series[-1][0]
    proof = (
        f"{said(entry, 'zero_std_share')} at {entry.where}, {fmean(shares):.2g} on average and "
        f"never below {min(shares):.2g}: so many groups teach nothing",
        f"the reward is {level:.3g} on average: the prompts are too {_TOO[level > 0.5]}",
    )
    return Finding("no_signal", LOOK, entry, proof)


def signal_ended(log: Log) -> Finding | None:
    """reward_std is 0 in the last three entries or more, and was not before."""
    series = log.series("reward_std")
    tail = len(series)
    while tail and series[tail - 1][1] == 0:
        tail -= 1
    dead, alive = series[tail:], series[:tail]
    if len(dead) < 3 or len(alive) < 3 or share([1 for _, v in alive if v == 0], alive) > 0.3:
        return None
    entry = dead[0][0]
    proof = [
        f"{entry.where}: {said(entry, 'reward_std')}, and 0 to the end ({len(dead)} entries)",
        f"before it, {alive[-1][0].where}: {said(alive[-1][0], 'reward_std')}",
    ]
    if "reward" in entry.numbers:
        proof.append(f"{said(entry, 'reward')} there")
    return Finding("signal_ended", 7.5, entry, tuple(proof))


def no_gradient(log: Log) -> Finding | None:
    """grad_norm exactly 0 where replies do get different rewards.

    A log has the norm of the last step of an entry, and the mean of the spreads of them all: where
    most groups tie, that step may have had none that differed.
    """
    series = log.series("grad_norm")
    dead = [entry for entry, norm in series if norm == 0]
    if not _has_rewards(log) or share(dead, series) < 0.5:
        return None
    alive = [e for e in dead if e.numbers.get("reward_std", 0) > 0]
    shares = [entry.numbers.get("zero_std_share", 0.0) for entry in alive]
    is_chance = math.prod(shares) > BY_CHANCE and _are_of_several_steps([e for e, _ in series])
    if not alive or min(shares) > MOSTLY_TIED or is_chance:
        return None
    proof = [f"{len(dead)} of {len(series)} entries: {said(alive[0], 'grad_norm', 'reward_std')}"]
    proof.append("the rewards differ, so there is something to learn")
    if alive[0].numbers.get("kl") == 0 or alive[0].numbers.get("kl_loss") == 0:
        name = "kl" if "kl" in alive[0].numbers else "kl_loss"
        proof.append(f"{said(alive[0], name)}: the policy is where it began")
    return Finding("no_gradient", 7.0, alive[0], tuple(proof))


def _are_of_several_steps(entries: list[Entry]) -> bool:
    steps = [entry.numbers["step"] for entry in entries if "step" in entry.numbers]
    return len(steps) > 1 and min(b - a for a, b in pairwise(steps)) > 1


def no_reward_at_all(log: Log) -> Finding | None:
    """Replies are logged and no reward is, or only nan; loss and gradient are 0."""
    if "length" not in log.fields or log.kind() != "policy":
        return None
    if any(map(math.isfinite, log.values("reward") + log.values("reward_std"))):
        return None
    dead = [e for e, loss in log.series("loss") if loss == 0 == e.numbers.get("grad_norm", 0.0)]
    if len(dead) < 2 or len(dead) < len(log.series("loss")):
        return None
    shown = [n for n in ("loss", "grad_norm", "reward") if n in dead[0].numbers]
    proof = f"{len(dead)} entries: {said(dead[0], *shown)}"
    missing = "reward" not in log.fields
    extra = ("none of them has a reward, though they have the length of replies",)
    return Finding("rewards_missing", 7.5, dead[0], (proof, *(extra if missing else ())))


def tiny_std(log: Log) -> Finding | None:
    entry = log.first("advantage_max", lambda value: math.isfinite(value) and value > 50)
    if entry is None:
        return _residue(log)
    proof = f"{entry.where}: {said(entry, 'advantage_max')}; of N replies none is beyond sqrt(N)"
    return Finding("tiny_std", 7.0, entry, (proof,))


def _residue(log: Log) -> Finding | None:
    """reward_std is what rounding leaves of 0, and a gradient is made of it."""
    series = log.series("reward_std")
    tiny = [e for e, v in series if 0 < v < RESIDUE and e.numbers.get("grad_norm", 0.0) > 0]
    if not tiny or share(tiny, series) < 0.5:
        return None
    counted = f"{len(tiny)} of {len(series)} entries, first {tiny[0].where}: "
    proof = counted + said(tiny[0], "reward_std", "grad_norm")
    return Finding("tiny_std", 7.5, tiny[0], (proof, "rewards that are alike have the std 0"))


def _has_rewards(log: Log) -> bool:
    return bool(log.fields & {"reward", "reward_std"})


RULES = (
    zero_loss_on_policy,
    no_signal,
    too_easy,
    signal_ended,
    no_gradient,
    no_reward_at_all,
    tiny_std,
)
