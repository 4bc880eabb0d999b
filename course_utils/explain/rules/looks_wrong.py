"""What only looks wrong: zeros and signs that the formula of a sound run gives as well."""

import math
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, share, thirds, trend
from course_utils.explain.rules.preference import LN_2, loses_little

FAR, FARTHER = -1.0, -3.0  # of a chosen reward: below it the chosen replies themselves are lost
EARLY = 0.1  # of an epoch
MANY, SPIKE, SOME = 8, 30.0, 0.25  # entries; times the median; of the entries
CALM = 1.1  # times the usual loss
FREE = (
    "negative scores are no fault of a reward model: its loss sees only the difference of two, so "
    "that a constant may be added to all of them, and another seed may end with others"
)
TELLS_APART = 0.6  # of the pairs: an accuracy beyond a coin's


def clips_nothing(log: Log) -> Finding | None:
    """The clip ratio is 0 throughout, beside gradients and groups with a spread."""
    series = log.series("clip_ratio")
    if len(series) < 2 or any(value != 0 for _, value in series) or not _learns(log):
        return None
    proof = f"{said(series[0][0], 'clip_ratio')} in all {len(series)} entries"
    return Finding("clips_nothing", 3.0, series[0][0], (proof, *_signal(log)))


def no_kl_term(log: Log) -> Finding | None:
    """The kl is 0 throughout, and the log says that its weight is; or it is nan throughout."""
    series, entry = log.series("kl"), log.kl_not_computed
    if entry is not None:
        proof = f"{entry.names['kl']} nan in all entries, first {entry.where}"
        beside = f"what is trained on is a number: {said(entry, *_trained_on(entry))}"
        return Finding("no_kl_term", 2.9, entry, (proof, beside))
    if log.no_kl is None or not series or any(value != 0 for _, value in series):
        return None
    proof = f"{said(series[0][0], 'kl')} in all {len(series)} entries"
    stated = log.no_kl.says
    return Finding("no_kl_term", 2.9, series[0][0], (proof, stated))


def _trained_on(entry: Entry) -> list[str]:
    return [name for name in ("loss", "policy_loss", "reward") if name in entry.numbers]


def _learns(log: Log) -> bool:
    """Whether every entry has a gradient, and a spread of rewards."""
    norms, spreads = log.values("grad_norm"), log.values("reward_std")
    return all(v > 0 and math.isfinite(v) for v in norms + spreads) and bool(norms and spreads)


def _signal(log: Log) -> tuple[str, ...]:
    norms, spreads = log.values("grad_norm"), log.values("reward_std")
    return (
        f"gradients and rewards are alive: grad_norm from {min(norms):.3g}, reward_std from "
        f"{min(spreads):.3g}",
    )


def groups_tied_at_times(log: Log) -> Finding | None:
    """A few steps without any spread have no gradient; all others have both."""
    series = [(e, v) for e, v in log.series("reward_std") if "grad_norm" in e.numbers]
    tied = [entry for entry, spread in series if spread == 0]
    alive = [entry.numbers["grad_norm"] for entry, spread in series if spread]
    if not tied or share(tied, series) >= 0.5 or any(e.numbers["grad_norm"] for e in tied):
        return None
    if not all(norm > 0 and math.isfinite(norm) for norm in alive):
        return None
    shown = [n for n in ("reward", "reward_std", "loss", "grad_norm") if n in tied[0].numbers]
    proof = (
        f"{len(tied)} of {len(series)} entries, first {tied[0].where}: {said(tied[0], *shown)}",
        f"grad_norm of the others: {min(alive):.3g} to {max(alive):.3g}",
    )
    return Finding("groups_tied_at_times", 3.0, tied[0], proof)


def only_the_margin(log: Log) -> Finding | None:
    """Both rewards are below 0, the chosen one a little, and the pairs are told apart."""
    both = [e for e in log.entries if {"chosen_reward", "rejected_reward"} <= e.numbers.keys()]
    both = both[next((n for n, e in enumerate(both) if e.numbers["rejected_reward"]), 0) :]
    chosen = [entry.numbers["chosen_reward"] for entry in both]
    rejected = [entry.numbers["rejected_reward"] for entry in both]
    hits = finite(log.values("accuracy"))
    far = FARTHER if loses_little(log) else FAR
    if not both or not hits or hits[-1] < TELLS_APART or not far < chosen[-1] < 0:
        return None
    if both[-1].numbers.get("loss", 0.0) >= LN_2:  # worse than where it began
        return None
    if not all(low < min(high, 0.0) for low, high in zip(rejected, chosen, strict=True)):
        return None
    entry = both[-1]
    names = [n for n in ("chosen_reward", "rejected_reward", "accuracy") if n in entry.numbers]
    margin = f"the margin there is {chosen[-1] - rejected[-1]:.3g}"
    proof = (f"{entry.where}: {said(entry, *names)}", margin)
    return Finding("only_the_margin", 3.0, entry, proof)


def free_scores(log: Log) -> Finding | None:
    """The scores of a reward model drift together, and its margin and accuracy rise."""
    levels, margins = thirds(log.values("chosen_reward")), trend(log.values("margin"))
    hits = thirds(log.values("accuracy"))
    if not log.scores_alone or None in (levels, margins, hits):
        return None
    if not (margins[2] > max(0.0, margins[0]) and hits[1] > hits[0] and hits[2] >= TELLS_APART):
        return None
    if levels[2] > min(0.0, levels[0]):
        return None
    entry = next(e for e in reversed(log.entries) if "chosen_reward" in e.numbers)
    proof = (
        f"{entry.where}: {said(entry, 'chosen_reward')}; by thirds of the log {listed(levels)}",
        f"the margin grows: {listed(margins)} by thirds of the log",
        log.of_scores.says,
    )
    return Finding("only_the_margin", 3.0, entry, proof, why=FREE)


def begins_at_ln_2(log: Log) -> Finding | None:
    """The first losses of a run are ln 2 and sink slowly, and no field says of what they are."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)][:6]
    if log.kind() != "supervised" or len(series) < 3 or len(series) != len(log.values("loss")[:6]):
        return None
    if log.values("grad_norm") and not any(log.values("grad_norm")):
        return None
    losses, first = [loss for _, loss in series], series[0][0]
    if first.numbers.get("epoch", 1.0) > EARLY or "token_accuracy" in log.fields:
        return None
    if abs(losses[0] - LN_2) > 0.01 or not all(LN_2 - 0.1 < x < LN_2 + 0.02 for x in losses):
        return None
    proof = (
        f"{first.where}: {said(first, 'loss', 'epoch')}; the last of these {losses[-1]:.4g}",
        "early in the first epoch, which is too soon to judge",
    )
    why = (
        f"ln 2 = {LN_2:.4f} is where a reward model, DPO or a classifier of two classes starts: "
        "pairs are not told apart yet (the loss of a language model stands there by chance only)"
    )
    return Finding("dpo_start", 3.0, first, proof, why=why)


def kl_cut_off(log: Log) -> Finding | None:
    """A kl beside rewards of pairs, which only KTO logs: exactly 0 at times, never below."""
    series = [(e, v) for e, v in log.series("kl") if math.isfinite(v)]
    zeros = [entry for entry, value in series if value == 0]
    if log.kind() != "preference" or not zeros or min(v for _, v in series) < 0:
        return None
    margins = finite(log.values("margin"))
    if len(zeros) == len(series) or len(margins) < 3 or margins[-1] < margins[0]:
        return None
    proof = (
        f"{len(zeros)} of {len(series)} entries, first {zeros[0].where}: {said(zeros[0], 'kl')}; "
        f"up to {max(v for _, v in series):.3g} in the others, and never below 0",
        f"the margin grows from {margins[0]:.3g} to {margins[-1]:.3g}",
    )
    return Finding("kl_cut_off", 3.2, zeros[0], proof)


def lone_spikes(log: Log) -> Finding | None:
    """Single gradients far above all others, beside a loss that is none the worse for them."""
    norms = [(e, v) for e, v in log.series("grad_norm") if math.isfinite(v)]
    losses = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    levels = thirds([v for _, v in losses])
    if len(norms) < MANY or levels is None or len(norms) < len(log.values("grad_norm")):
        return None
    middle = median(v for _, v in norms)
    spikes = [(e, v) for e, v in norms if v > SPIKE * middle > 0]
    usual = max((v for e, v in losses if all(e is not spike for spike, _ in spikes)), default=0.0)
    calm = all(e.numbers.get("loss", 0.0) <= CALM * usual for e, _ in spikes)
    if not spikes or len(spikes) > SOME * len(norms) or not calm or levels[2] > CALM * levels[0]:
        return None
    entry, _ = max(spikes, key=lambda pair: pair[1])
    proof = (
        f"{len(spikes)} of {len(norms)} entries, the largest {entry.where}: "
        f"{said(entry, *(n for n in ('loss', 'grad_norm') if n in entry.numbers))}",
        f"grad_norm is {middle:.3g} in the median; the loss by thirds of the log: {listed(levels)}",
    )
    return Finding("lone_spikes", 2.5, entry, proof)


RULES = (
    lone_spikes,
    clips_nothing,
    kl_cut_off,
    no_kl_term,
    groups_tied_at_times,
    only_the_margin,
    free_scores,
    begins_at_ln_2,
)
