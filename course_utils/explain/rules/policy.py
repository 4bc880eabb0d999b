"""GRPO and PPO: rewards, groups, replies, two engines."""

import math

from course_utils.explain.finding import Finding
from course_utils.explain.log import Log, finite
from course_utils.explain.numbers import said, share, thirds

SMALL = 1e-3


def zero_loss_on_policy(log: Log) -> Finding | None:
    """The loss is nearly 0; grad_norm is not, or kl grows, so the policy moves."""
    losses = log.series("loss")
    small = [entry for entry, loss in losses if abs(loss) < SMALL]
    spreads = finite(log.values("reward_std"))
    if not _has_rewards(log) or share(small, losses) < 0.5 or (spreads and max(spreads) == 0):
        return None
    norms = finite(e.numbers["grad_norm"] for e in small if e.numbers.get("grad_norm"))
    kls = finite(log.values("kl"))
    moves = len(kls) > 2 and kls[-1] > max(10 * kls[0], 1e-4)
    if not norms and not ("grad_norm" not in log.fields and moves):
        return None
    proof = [f"the loss is below {SMALL:g} in {len(small)} of {len(losses)} entries"]
    if norms:
        proof.append(f"grad_norm there is {min(norms):.3g} to {max(norms):.3g}")
    if moves:
        proof.append(f"kl grows from {kls[0]:.3g} to {kls[-1]:.3g}: the policy moves")
    if spreads:
        proof.append(f"replies are told apart: reward_std up to {max(spreads):.3g}")
    return Finding("on_policy_zero_loss", 4.0, small[0], tuple(proof))


def no_signal(log: Log) -> Finding | None:
    """Groups without variance: reward_std 0, or frac_reward_zero_std near 1."""
    for name, is_dead in (
        ("zero_std_share", lambda value: value > 0.95),
        ("reward_std", lambda value: value == 0),
        ("advantage_max", lambda value: value == 0),
    ):
        series = log.series(name)
        dead = [entry for entry, value in series if is_dead(value)]
        if not dead or share(dead, series) < 0.5 or math.isnan(dead[0].numbers.get("loss", 0)):
            continue
        first = f"first {dead[0].where}: {said(dead[0], name)}"
        proof = [f"{len(dead)} of {len(series)} entries, {first}"]
        rewards = [entry.numbers["reward"] for entry in dead if "reward" in entry.numbers]
        if rewards:
            where = "0" if max(map(abs, rewards)) == 0 else f"{rewards[0]:.3g}"
            proof.append(f"the reward there is {where}")
        if "grad_norm" in dead[0].numbers:
            proof.append(said(dead[0], "grad_norm"))
        return Finding("no_signal", 7.0, dead[0], tuple(proof))
    rewards = log.values("reward")
    if "reward_std" not in log.fields and len(rewards) >= 3 and set(rewards) == {0.0}:
        entry = log.series("reward")[0][0]
        return Finding("no_signal", 5.0, entry, (f"reward 0 in all {len(rewards)} entries",))
    return None


def no_gradient(log: Log) -> Finding | None:
    """grad_norm exactly 0 where replies do get different rewards."""
    series = log.series("grad_norm")
    dead = [entry for entry, norm in series if norm == 0]
    if not _has_rewards(log) or share(dead, series) < 0.5:
        return None
    alive = [e for e in dead if e.numbers.get("reward_std", 0) > 0]
    shares = [entry.numbers.get("zero_std_share", 0.0) for entry in alive]
    if not alive or min(shares) > 0.95:
        return None
    proof = [f"{len(dead)} of {len(series)} entries: {said(alive[0], 'grad_norm', 'reward_std')}"]
    if alive[0].numbers.get("kl") == 0 or alive[0].numbers.get("kl_loss") == 0:
        name = "kl" if "kl" in alive[0].numbers else "kl_loss"
        proof.append(f"{said(alive[0], name)}: the policy is where it began")
    return Finding("no_gradient", 7.0, alive[0], tuple(proof))


def collapse(log: Log) -> Finding | None:
    """The reward falls for good below half of what it had gained."""
    series = [(e, r) for e, r in log.series("reward") if math.isfinite(r)]
    if len(series) < 6:
        return None
    rewards = [reward for _, reward in series]
    means = [sum(rewards[i : i + 3]) / 3 for i in range(len(rewards) - 2)]
    best = max(range(len(means)), key=means.__getitem__)
    low = min(0.0, *rewards)
    floor = low + (means[best] - low) / 2
    after = [(e, r) for e, r in series[best + 2 :] if r < floor]
    if not after or means[-1] >= floor or means[best] - low < 0.05:
        return None
    turned = after[0][0]
    proof = [
        f"the reward was {means[best]:.3g} around {series[best][0].where} and is {means[-1]:.3g} "
        f"at the end; it fell at {turned.where}: {said(turned, 'reward')}"
    ]
    for name in ("kl", "kl_loss", "grad_norm", "entropy", "length"):
        early = [v for e, v in log.series(name) if math.isfinite(v) and log_before(log, e, turned)]
        if early and name in turned.numbers and _jumps(early[-1], turned.numbers[name]):
            proof.append(f"{said(turned, name)} there, {early[-1]:.3g} before")
    return Finding("collapse", 6.0, turned, tuple(proof))


def log_before(log: Log, one, other) -> bool:
    """Whether an entry stands before another."""
    order = {id(entry): number for number, entry in enumerate(log.entries)}
    return order[id(one)] < order[id(other)]


def _jumps(before: float, now: float) -> bool:
    return not math.isfinite(now) or abs(now) > 3 * abs(before) or abs(now) < abs(before) / 3


def entropy_gone(log: Log) -> Finding | None:
    levels = thirds(log.values("entropy"))
    if levels is None or levels[0] <= 0 or levels[2] > 0.15 * levels[0]:
        return None
    entry = log.series("entropy")[-1][0]
    proof = [f"entropy {levels[0]:.3g} in the first third, {levels[2]:.3g} in the last"]
    spreads = thirds(log.values("reward_std"))
    if spreads and spreads[2] < 0.5 * spreads[0]:
        proof.append(f"reward_std {spreads[0]:.3g}, then {spreads[2]:.3g}")
    return Finding("entropy_gone", 5.0, entry, tuple(proof))


def cheated(log: Log) -> Finding | None:
    """The reward rises while an evaluation in the same log falls."""
    rewards, held_out = thirds(log.values("reward")), log.values("eval_accuracy")
    if rewards is None or len(held_out) < 2 or rewards[2] <= rewards[0]:
        return None
    if held_out[-1] >= held_out[0]:
        return None
    entry = log.series("eval_accuracy")[-1][0]
    proof = (
        f"the reward rises from {rewards[0]:.3g} to {rewards[2]:.3g} (first and last third)",
        f"the evaluation falls from {held_out[0]:.3g} to {held_out[-1]:.3g}",
    )
    return Finding("proxy_rises_alone", 7.0, entry, proof)


def replies_cut(log: Log) -> Finding | None:
    ends = log.series("num_eos")
    if ends and all(number == 0 for _, number in ends):
        proof = f"{said(ends[0][0], 'num_eos')} in all {len(ends)} entries: no reply ends by itself"
        return Finding("replies_cut", 4.5, ends[0][0], (proof,))
    series = [(e, v) for e, v in log.series("truncated_share") if math.isfinite(v)]
    high = [(entry, value) for entry, value in series if value >= 0.4]
    if not high or share(high, series) < 0.3:
        return None
    entry = high[0][0]
    first = f"first {entry.where}: {said(entry, 'truncated_share')}"
    proof = [f"{len(high)} of {len(series)} entries, {first}"]
    return Finding("replies_cut", 4.5, entry, tuple(proof))


def engines_disagree(log: Log) -> Finding | None:
    for name, is_bad in (
        ("importance_ratio", lambda value: not 0.9 < value < 1.1),
        ("logp_difference", lambda value: value > 0.1),
    ):
        bad = [entry for entry, value in log.series(name) if is_bad(value)]
        if bad and share(bad, log.series(name)) > 0.3:
            proof = f"{len(bad)} of {len(log.series(name))} entries, first {bad[0].where}: "
            return Finding("engines_disagree", 6.0, bad[0], (proof + said(bad[0], name),))
    return None


def tiny_std(log: Log) -> Finding | None:
    entry = log.first("advantage_max", lambda value: math.isfinite(value) and value > 50)
    if entry is None:
        return None
    proof = f"{entry.where}: {said(entry, 'advantage_max')}; of N replies none is beyond sqrt(N)"
    return Finding("tiny_std", 7.0, entry, (proof,))


def reward_rises(log: Log) -> Finding | None:
    levels = thirds(log.values("reward"))
    if levels is None or not levels[0] < levels[1] < levels[2]:
        return None
    proof = f"the reward rises: {', '.join(f'{level:.3g}' for level in levels)} by thirds"
    return Finding("improves", 2.0, log.series("reward")[-1][0], (proof,))


def _has_rewards(log: Log) -> bool:
    return bool(log.fields & {"reward", "reward_std"})


RULES = (
    zero_loss_on_policy,
    no_signal,
    no_gradient,
    collapse,
    entropy_gone,
    cheated,
    replies_cut,
    engines_disagree,
    tiny_std,
    reward_rises,
)
