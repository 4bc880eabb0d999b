"""nan, inf, and a 0 that replaces one of them."""

import math

from course_utils.explain.finding import LOOK, Finding
from course_utils.explain.paste.entries import MAX_QUOTE, Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import recovers, said
from course_utils.explain.rules.gradients import is_zero_by_formula
from course_utils.explain.rules.start import UNIFORM

LOSSES = ("loss", "policy_loss")
FORWARD = (*LOSSES, "kl_loss", "kl", "old_kl", "entropy", "chosen_logp", "rejected_logp")
SURE = -1e-4  # a mean log-prob: every token of the reply is certain
OF_ODDS = (
    "the odds of the chosen replies are infinite: their log-prob has reached 0, and the odds ratio "
    "takes log(1 - exp(log-prob)), which is log(0); one such update makes every weight nan"
)
BOUND_ODDS = (
    "fewer epochs or a smaller rate, so that the chosen replies are not known by heart; bound the "
    "log-prob below 0 before log1p(-exp(logp)); restart from before it"
)
FAR_ABOVE = 1.5  # times the first loss
CLIMBED = "the run has diverged: the loss climbs far above its start before it is nan"
SHOWN_ALONE = (
    *("loss", "kl", "entropy", "eval_loss", "clip_ratio", "margin", "chosen_reward"),
    *("chosen_logit", "rejected_logit"),
)
HUGE = 1e6  # no loss of a model is; half of float32's range is further
IN_THE_CHECKPOINT = (
    "the first numbers after a checkpoint was loaded are nan: its weights are nan already, or the "
    "number format cannot hold what they make; these steps did not do it"
)
IN_EPOCH_1 = (
    "nan in the first epoch: the data, the loaded weights or one of the first updates make it, and "
    "nothing is learnt"
)
IN_THE_BACKWARD = (
    "the first gradient is nan beside a finite loss, and no update stands before it: the "
    "backward pass makes it (its number format, an operation, the exchange between GPUs), not the "
    "learning rate; the update that follows breaks the weights",
    "one backward pass of the first batch in float32, without a scaler and on one GPU; then find "
    "the weights whose gradient is nan",
)
LOOK_INTO_IT = (
    "look for nan in the checkpoint's weights; if there is one, go back to a checkpoint from "
    "before the run that saved it turned to nan"
)
DECODES = "each nan adds the running mean to it: decode_logged_loss gives the loss behind it"


def shown_as_zero(log: Log) -> Finding | None:
    """Transformers leaves a nan loss out of its running sum: 0 is printed beside grad_norm nan."""
    for entry, loss in log.series("loss"):
        if is_zero_by_formula(entry):
            continue
        if loss == 0 and not math.isfinite(entry.numbers.get("grad_norm", 0.0)):
            before = log.before(entry)
            huge = before is not None and abs(before.numbers.get("loss", 0.0)) > UNIFORM
            extra = (f"the entry before: {said(before, 'loss')}; {DECODES}",) if huge else ()
            proof = f"{entry.where}: {said(entry, 'loss')} together with {said(entry, 'grad_norm')}"
            return Finding("nan_shown_as_zero", 9.0, entry, (proof, *extra))
        logps = [n for n in ("chosen_logp", "rejected_logp") if math.isnan(entry.numbers.get(n, 0))]
        if loss == 0 and logps:
            proof = f"{entry.where}: {said(entry, 'loss')} together with {said(entry, *logps)}"
            return Finding("nan_shown_as_zero", 9.0, entry, (proof,))
    return None


def dead_from_the_start(log: Log) -> Finding | None:
    """Already the first entry is dead: training did not make it, if that is the first step."""
    entry = log.entries[0]
    norm = entry.numbers.get("grad_norm", math.nan)
    names = [name for name in LOSSES if math.isnan(entry.numbers.get(name, 0.0))]
    is_zero = entry.numbers.get("loss") == 0 and not is_zero_by_formula(entry)
    if is_zero and "grad_norm" in entry.numbers and math.isnan(norm):
        names = ["loss"]
    if not names or math.isfinite(norm):
        return None
    shown = names + (["grad_norm"] if "grad_norm" in entry.numbers else [])
    proof = f"{entry.where} is the first entry: {said(entry, *shown)}"
    step = entry.numbers.get("step")
    if step is not None and step <= 1:
        return Finding("nan_from_the_start", 8.0, entry, (proof, said(entry, "step")))
    if entry.names.get("epoch") == "Epoch" and entry.numbers["epoch"] == 1:
        return Finding("nan_from_the_start", 7.5, entry, (proof, "Epoch 1"), why=IN_EPOCH_1)
    if log.resumed:
        resumed = f"{log.resumed.where} says: {log.resumed.text[:MAX_QUOTE]}"
        found = (entry, (proof, resumed))
        return Finding("nan_already", 7.0, *found, why=IN_THE_CHECKPOINT, advice=LOOK_INTO_IT)
    return Finding("nan_already", 6.0, entry, (proof,))


def first_gradient(log: Log) -> Finding | None:
    """The first gradient is nan beside a finite loss, before any update, and the run is dead."""
    (entry, *others), alive = log.entries, math.isfinite
    step, rate = entry.numbers.get("step", math.inf), entry.numbers.get("learning_rate", 1.0)
    loss, norm = (entry.numbers.get(name, 0.0) for name in ("loss", "grad_norm"))
    if alive(norm) or not alive(loss) or not loss or (rate > 0 and step > 1):
        return None
    later = [one.numbers for one in others if "loss" in one.numbers]
    if not later or any(alive(n["loss"]) and n["loss"] for n in later):
        return None  # a scaler skips its first steps, and the run goes on
    shown = [n for n in ("loss", "grad_norm", "learning_rate", "step") if n in entry.numbers]
    proof = (f"{entry.where}: {said(entry, *shown)}", "after it the loss is 0 or nan to the end")
    why, advice = IN_THE_BACKWARD
    return Finding("nan_from_the_start", 9.5, entry, proof, why=why, advice=advice)


def huge_loss(log: Log) -> Finding | None:
    """A loss beyond 1e6: grown step by step, or out of a filter's window (lesson 03)."""
    entry = log.first("loss", lambda loss: math.isinf(loss) or abs(loss) > HUGE)
    if entry is None or shown_as_zero(log):
        return None
    before = log.before(entry)
    proof = f"{entry.where}: {said(entry, 'loss')}; no loss of a model is that large"
    if math.isinf(entry.numbers["loss"]) or (before and before.numbers.get("loss", 0) > 10):
        first = log.series("loss")[0][0]
        steps = (f"{first.where}: {said(first, 'loss')}", proof)
        return Finding("diverged", 7.5, entry, steps)
    against = "no entry with grad_norm nan"
    return Finding("nan_shown_as_zero", LOOK, entry, (proof,), (against,))


def dead_weights(log: Log) -> Finding | None:
    """From some entry on, every number of the forward pass is nan."""
    turned = _first_lasting(log)
    earlier = log.before(turned) if turned else None
    if turned is None or earlier is None or shown_as_zero(log) or recovers(log.values("loss")):
        return None  # without an earlier entry it is dead_from_the_start
    names = [name for name in turned.numbers if math.isnan(turned.numbers[name])]
    proof = [f"{turned.where}: {', '.join(said(turned, name) for name in names)}, and to the end"]
    reward, length = log.values("reward"), log.values("length")
    if len(reward) > 1 and reward[-1] == 0 and max(reward) > 0:
        proof.append(f"the last reward is 0; it was up to {max(reward):.3g}")
    if len(length) > 1 and length[-1] > 1.5 * length[0]:
        proof.append(f"replies grew from {length[0]:.0f} to {length[-1]:.0f} tokens")
    if math.isfinite(earlier.numbers.get(names[0], math.nan)):
        proof.append(f"before it, {earlier.where}: {said(earlier, names[0])}")
    if climb := _climb(log):
        return Finding("diverged", 8.0, climb[0], (*climb[1], proof[0]), why=CLIMBED)
    if learnt := _known_by_heart(log):
        return Finding("nan_weights", 8.5, learnt, tuple(proof), why=OF_ODDS, advice=BOUND_ODDS)
    return Finding("nan_weights", 8.0, turned, tuple(proof))


def _known_by_heart(log: Log) -> Entry | None:
    """The first entry with a nan, if the chosen replies have a log-prob of 0 in it, by ORPO."""
    entry = log.first("loss", lambda loss: not math.isfinite(loss))
    is_of_odds = entry is not None and "log_odds" in log.fields
    return entry if is_of_odds and entry.numbers.get("chosen_logp", -1.0) > SURE else None


def _climb(log: Log) -> tuple[Entry, tuple[str]] | None:
    """Where a supervised loss leaves its start, if its last numbers are far above it."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    if log.kind() == "policy" or len(series) < 4 or series[0][1] <= 0:
        return None
    limit, low = FAR_ABOVE * series[0][1], series[0][0]
    high = [entry for entry, loss in reversed(series) if loss > limit]
    if high[:2] != [entry for entry, _ in series[:-3:-1]]:
        return None
    first, last = series[-len(high)][0], series[-1][0]
    said_ = f"{said(low, 'loss')} at {low.where}, {said(first, 'loss')} at {first.where}"
    return first, (f"{said_}, {said(last, 'loss')} at {last.where}",)


def _first_lasting(log: Log) -> Entry | None:
    """The first entry from which on all its forward numbers are nan, to the last."""
    turned = None
    for entry in reversed(log.entries):
        forward = [entry.numbers[name] for name in FORWARD if name in entry.numbers]
        if not forward:
            continue
        norm = entry.numbers.get("grad_norm", math.nan)
        if not all(map(math.isnan, forward)) or math.isfinite(norm):
            break
        turned = entry
    return turned if turned and any(name in turned.numbers for name in LOSSES) else None


def empty_cells(log: Log) -> Finding | None:
    """A table whose rows have a number of training or one of an evaluation, and nan beside it."""
    if log.empty_cell is None:
        return None
    counted = [len(log.values(name)) for name in ("loss", "eval_loss")]
    proof = f"{counted[0]} rows have a loss of training, {counted[1]} others one of an evaluation"
    return Finding("empty_cells", 3.0, log.empty_cell, (proof,))


def lone_metric(log: Log) -> Finding | None:
    """kl or entropy is nan while loss and grad_norm are finite in the same entries."""
    for name in SHOWN_ALONE:
        entry = log.first(name, math.isnan)
        if entry is None:
            continue
        by = ("grad_norm",) if name == "loss" else ("loss", "grad_norm", "reward")
        beside = [n for n in by if n in entry.numbers]
        if beside and all(math.isfinite(entry.numbers[n]) for n in beside):
            proof = [f"{entry.where}: {said(entry, name)} beside {said(entry, *beside)}"]
            if name == "loss":
                proof.append("a loss that is trained on and nan has no finite gradient")
            why, advice = _of_nothing(log, entry)
            return Finding("nan_metric", 6.0, entry, tuple(proof), why=why, advice=advice)
    return None


def _of_nothing(log: Log, entry: Entry) -> tuple[str, str]:
    """One side of the preference is nan in some entries: those batches hold no row of it."""
    for side in ("chosen", "rejected"):
        values = log.values(f"{side}_logp")
        if math.isnan(entry.numbers.get(f"{side}_logp", 0.0)) and any(map(math.isfinite, values)):
            return (
                f"the numbers of {side} replies are nan in some entries and finite in others: in "
                f"those micro-batches no reply is {side}, and the mean of nothing is nan",
                "larger micro-batches, or rows mixed so that each holds both; the weights are "
                "whole, since grad_norm stays finite; newer versions of the trainer sum over all "
                "processes before they divide",
            )
    return "", ""


def std_of_one(log: Log) -> Finding | None:
    """reward_std is nan beside a finite reward."""
    entry = log.first("reward_std", math.isnan)
    if entry is None or not math.isfinite(entry.numbers.get("reward", math.nan)):
        return None
    proof = f"{entry.where}: {said(entry, 'reward_std')} beside {said(entry, 'reward')}"
    return Finding("std_of_one", 10.5, entry, (proof,))


def reward_nan(log: Log) -> Finding | None:
    """The reward is nan, before the loss or without one."""
    series = log.series("reward")
    entry = log.first("reward", math.isnan)
    if entry is None or any(math.isnan(entry.numbers.get(name, 0.0)) for name in FORWARD):
        return None
    count = sum(math.isnan(value) for _, value in series)
    proof = f"{count} of {len(series)} entries, first {entry.where}: {said(entry, 'reward')}"
    return Finding("reward_nan", 7.0, entry, (proof,))


def now_and_then(log: Log) -> Finding | None:
    """The loss is nan in some entries and a number again in later ones: the weights survived."""
    series = log.series("loss")
    bad = [entry for entry, loss in series if math.isnan(loss)]
    alive = [entry for entry, loss in series if math.isfinite(loss) and loss]
    if not bad or not alive or series[-1][1] == 0:
        return None
    if math.isnan(series[-1][1]) and not recovers(log.values("loss")):
        return None
    counted = f"{len(bad)} of {len(series)} losses are not finite, the first at {bad[0].where}"
    after = f"after it a finite one: {alive[-1].where}: {said(alive[-1], 'loss')}"
    return Finding("nan_now_and_then", 6.0, bad[0], (counted, after))


def critic(log: Log) -> Finding | None:
    for name in ("critic_loss", "critic_grad_norm"):
        entry = log.first(name, math.isnan)
        if entry is not None:
            actor = entry.numbers.get("grad_norm", math.nan)
            proof = [f"{entry.where}: {said(entry, name)}"]
            if math.isfinite(actor):
                proof.append(f"the actor is well: {said(entry, 'grad_norm')}")
            is_update = math.isfinite(entry.numbers.get("critic_value", math.nan))
            if is_update:
                proof.append(f"its values are finite: {said(entry, 'critic_value')}")
            key = "critic_update_nan" if is_update else "critic_nan"
            return Finding(key, 8.5, entry, tuple(proof))
    return None


RULES = (
    empty_cells,
    shown_as_zero,
    dead_from_the_start,
    first_gradient,
    huge_loss,
    dead_weights,
    lone_metric,
    std_of_one,
    reward_nan,
    now_and_then,
    critic,
)
