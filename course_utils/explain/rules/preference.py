"""DPO and reward models: margins, accuracies, the start at ln 2."""

import math
from itertools import pairwise, takewhile

from course_utils.explain.finding import Finding
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, share, thirds, trend

LN_2 = math.log(2)
SLIGHTLY = 0.1  # of its log-prob: what a chosen reply may lose
OFTEN, LOST = 4.0, -0.05  # epochs over the same pairs; a chosen reward that has fallen
OF_NO_TOKEN = (
    "no token of the replies counts: a log-prob of exactly 0 is a sum over nothing (all labels "
    "-100, by a mask that does not fit the template, or by a cut before the reply), so the loss is "
    "ln 2 and no gradient arrives, whatever the policy and the learning rate",
    "decode one batch and count the labels of chosen and rejected that are not -100; make the "
    "template or the separators of the mask those of the tokenizer; raise max_length and "
    "max_prompt_length, or drop rows that are longer, so that the reply is left",
)
GONE = 0.2  # of the share of right tokens
COLLAPSED = (
    "the model has collapsed, and a good loss, margin and accuracy hide it: chosen and rejected "
    "replies both become unlikely, and the margin grows only because the rejected lose faster",
    "stop and compare the first 30 steps of short runs that differ in one thing: a smaller "
    "learning rate or larger beta, the negative log-likelihood of the chosen added, the embeddings "
    "and the head left frozen, no tokens added (or a table padded to a multiple of 64)",
    "no rule tells what began it: steps that are too long, a loss that nothing holds, or "
    "tables of tokens that are resized or trained whole",
)
EARLY = 0.05  # epochs: behind them a policy has moved
FEW_AT_START, NO_MARGIN = 4, 5e-3  # entries; a reward that is next to 0
NOISE = 0.1  # what bfloat16 and dropout make of two equal log-probs, times beta


def stuck_at_the_start(log: Log) -> Finding | None:
    """Both rewards 0 and the loss ln 2: policy and reference agree to the last digit."""
    series = log.series("chosen_reward")
    same = [e for e, v in series if v == 0 and e.numbers.get("rejected_reward", 1.0) == 0]
    if not same or no_token_counts(log):
        return None
    if not _is_even([entry.numbers.get("loss", LN_2) for entry in same]):
        return None
    shown = [n for n in ("chosen_reward", "rejected_reward", "loss") if n in same[0].numbers]
    proof = f"{same[0].where}: {said(same[0], *shown)}"
    is_all = share(same, series) > 0.9
    if is_all and (len(same) >= 2 or same[0].numbers.get("epoch", 0.0) > EARLY):
        counted = f"{len(same)} of {len(series)} entries are like this"
        return Finding("policy_is_reference", 7.0, same[-1], (proof, counted))
    moved = max(abs(reward) for _, reward in series)
    if len(series) > FEW_AT_START and moved < NO_MARGIN:
        return None  # nor does it leave that start: no reassurance
    later = "where later entries are the same, the policy does not move"
    only = later if is_all else "only where the run begins"
    return Finding("dpo_start", 3.0, same[0], (proof, only))


def no_token_counts(log: Log) -> Finding | None:
    """The log-probs of chosen and rejected replies are exactly 0, a sum over nothing, in every
    entry, and the logits are numbers, or nan, a mean over nothing, beside the loss ln 2."""
    series = log.series("chosen_logp")
    if len(series) < 2 or any(log.values("chosen_logp") + log.values("rejected_logp")):
        return None
    logits = log.values("chosen_logit") + log.values("rejected_logit")
    are_numbers = any(map(math.isfinite, filter(None, logits)))
    of_nothing = logits and all(map(math.isnan, logits)) and _is_even(log.values("loss"))
    if "rejected_logp" not in log.fields or not (are_numbers or of_nothing):
        return None
    entry, names = series[0][0], ("chosen_logp", "rejected_logp", "chosen_logit")
    shown = said(entry, *(name for name in names if name in entry.numbers))
    proof = (
        f"{shown}; the log-probs are 0 in all {len(series)} entries",
        "a reply of which one token counts has a log-prob below 0",
    )
    why, advice = OF_NO_TOKEN
    return Finding("labels_masked", 8.5, entry, proof, why=why, advice=advice)


def _is_even(losses: list[float]) -> bool:
    return bool(losses) and all(abs(loss - LN_2) <= 0.01 for loss in losses)


def at_chance(log: Log) -> Finding | None:
    """Accuracy near 0.5 in every entry, and the loss or the margin of a coin."""
    hits = finite(log.values("accuracy"))
    if len(hits) < 8 or not all(0.4 <= hit <= 0.6 for hit in hits) or not hits[0]:
        return None
    losses, margins = finite(log.values("loss")), finite(log.values("margin"))
    is_coin = losses and max(abs(loss - LN_2) for loss in losses) < 0.02
    if not is_coin and not (margins and max(map(abs, margins)) < 0.05):
        return None
    entry = log.series("accuracy")[-1][0]
    proof = [f"accuracy from {min(hits):.3g} to {max(hits):.3g} in {len(hits)} entries"]
    if losses:
        proof.append(f"loss from {min(losses):.4g} to {max(losses):.4g}; ln 2 is 0.6931")
    if margins:
        proof.append(f"margin from {min(margins):.3g} to {max(margins):.3g}")
    return Finding("at_chance", 6.0, entry, tuple(proof))


def wrong_reference(log: Log) -> Finding | None:
    """The first entry of DPO, known to be the first, has rewards that are not 0."""
    series = log.series("chosen_reward")
    if not series or "rejected_reward" not in log.fields:
        return None
    entry, chosen = series[0]
    before = takewhile(lambda one: one is not entry, log.entries)
    if any({"learning_rate", "grad_norm", "epoch"} & one.numbers.keys() for one in before):
        return None
    known = _shows_the_start(log, entry)
    rejected = entry.numbers.get("rejected_reward", 0.0)
    least = NOISE if known.startswith(entry.names.get("step", " ")) else 1.0
    if not known or not (least < abs(chosen) < math.inf and least < abs(rejected) < math.inf):
        return None
    proof = f"{entry.where}: {said(entry, 'chosen_reward', 'rejected_reward')}; both must be 0"
    return Finding("wrong_reference", 6.5, entry, (proof, known))


def _shows_the_start(log: Log, entry: Entry) -> str:
    """What shows that this entry is where the run begins; "" if nothing does."""
    step = entry.numbers.get("step")
    if step is not None:
        return said(entry, "step") if step <= 1 else ""
    rates, epoch = log.values("learning_rate")[:3], entry.numbers.get("epoch", 1.0)
    if epoch == 0 and len(rates) > 1:
        return said(entry, "epoch")
    if len(rates) > 1 and rates[1] >= 1.5 * rates[0] and epoch <= 0.05:
        return f"the learning rate begins there: {rates[0]:.3g}, then {rates[1]:.3g}"
    return ""


def accuracies_of_few_rows(log: Log) -> Finding | None:
    values = log.values("accuracy")
    if len(values) < 4 or set(values) != {0.0, 1.0}:
        return None
    ones = values.count(1.0)
    proof = f"{ones} of {len(values)} accuracies are 1, all others 0"
    return Finding("few_rows", 3.0, log.series("accuracy")[0][0], (proof,))


def pushed_down(log: Log) -> Finding | None:
    """Both rewards fall from the first third to the last, the chosen one far below 0."""
    if log.scores_alone:
        return None  # without a reference their mean is free
    chosen, rejected = _levels(log.values("chosen_reward")), _levels(log.values("rejected_reward"))
    if not chosen or not rejected or chosen[-1] > -1 or chosen[-1] > chosen[0] - 0.5:
        return None
    if rejected[-1] >= rejected[0] or loses_little(log):
        return None
    entry = log.series("chosen_reward")[-1][0]
    proof = (
        f"{entry.where}: {said(entry, 'chosen_reward', 'rejected_reward')}; 0 is the reference",
        f"{'by thirds of the log' if len(log.entries) >= 6 else 'one by one'}: "
        f"chosen {listed(chosen)}; rejected {listed(rejected)}",
    )
    if lost := _lost_every_token(log):
        why, advice, untold = COLLAPSED
        of = ("margin_by_pushing_down", 5.5, entry, (lost, *proof))
        return Finding(*of, why=why, advice=advice, untold=untold)
    return Finding("margin_by_pushing_down", 4.0, entry, proof)


def _lost_every_token(log: Log) -> str:
    """How the share of right tokens vanishes while the entropy doubles; "" if they do not."""
    right, entropy = thirds(log.values("token_accuracy")), thirds(log.values("entropy"))
    if right is None or entropy is None or right[2] > GONE * right[0]:
        return ""
    nats = finite(log.values("entropy"))
    if not 0 < nats[0] < nats[-1] / 2:
        return ""
    name = log.series("token_accuracy")[-1][0].names["token_accuracy"]
    return (
        f"{name} by thirds {listed(right)}, entropy {listed(entropy)}: the model no longer knows "
        "the tokens of the replies"
    )


def loses_little(log: Log) -> bool:
    """Whether the chosen replies lose a small part of their log-prob, and more pairs are right."""
    logps, hits = finite(log.values("chosen_logp")), thirds(log.values("accuracy"))
    if len(logps) < 3 or hits is None or hits[2] < max(0.6, hits[0]):
        return False
    return logps[0] - logps[-1] < SLIGHTLY * abs(logps[0])


def pushed_down_again_and_again(log: Log) -> Finding | None:
    """The same pairs come for many epochs, the margin grows, and the chosen reply has lost."""
    series = [(e, v) for e, v in log.series("chosen_reward") if "epoch" in e.numbers]
    if log.scores_alone:
        return None
    chosen, margins = thirds([v for _, v in series]), thirds(log.values("margin"))
    if chosen is None or margins is None or series[-1][0].numbers["epoch"] < OFTEN:
        return None
    if max(chosen[1:]) > LOST or margins[2] <= margins[0]:
        return None
    entry = series[-1][0]
    proof = (
        f"{entry.where}: {said(entry, 'epoch')}: so often each pair has come",
        f"by thirds of the log: chosen {listed(chosen)}, margin {listed(margins)}",
    )
    return Finding("margin_by_pushing_down", 4.0, entry, proof)


def _levels(values: list[float]) -> tuple[float, ...] | None:
    """By thirds; of three to five numbers that fall throughout, the numbers themselves."""
    falls = len(values) >= 3 and all(now < before for before, now in pairwise(values))
    return thirds(values) or (tuple(values) if falls else None)


def worse_than_untrained(log: Log) -> Finding | None:
    """The loss of DPO is above 1 on average, beside rewards in the tens: ln 2 is its start."""
    losses = finite(log.values("loss"))
    rewards = finite(log.values("chosen_reward") + log.values("rejected_reward"))
    if len(losses) < 3 or sum(losses) / len(losses) < 1 or not rewards:
        return None
    series = [(e, v) for e, v in log.series("loss") if v > 1]
    if len(series) < 2 or max(map(abs, rewards)) < 4:
        return None
    entry, worst = max(series, key=lambda one: one[1])
    proof = [
        f"the loss is {sum(losses) / len(losses):.3g} on average, up to {worst:.4g} at "
        f"{entry.where}; ln 2 = 0.693 is that of an untrained policy",
        f"the rewards go from {min(rewards):.4g} to {max(rewards):.4g}; policy and reference alike "
        "would give 0",
    ]
    if rates := finite(log.values("learning_rate")):
        proof.append(f"learning_rate up to {max(rates):.2g}; DPO bears about 1e-6")
    return Finding("thrown_about", 5.0, series[0][0], tuple(proof))


def saturated(log: Log) -> Finding | None:
    """All pairs right, the margin in the tens, the loss 0: the pairs are told apart for sure."""
    hits, losses = finite(log.values("accuracy"))[-3:], finite(log.values("loss"))[-3:]
    margins = log.series("margin")[-3:]
    if len(hits) < 3 or min(hits) < 1 or len(losses) < 3 or max(losses) > 0.01:
        return None
    if len(margins) < 3 or min(margin for _, margin in margins) < 10:
        return None
    entry, margin = margins[0]
    proof = (
        f"{entry.where} and after: accuracy 1, loss up to {max(losses):.2g}, margin {margin:.3g}"
    )
    return Finding("margin_saturated", 4.5, entry, (proof,))


def inverted(log: Log) -> Finding | None:
    """The margin falls below 0 and the accuracy below a coin: the rejected replies are learned."""
    margins, hits = trend(log.values("margin")), thirds(log.values("accuracy"))
    if not margins or margins[2] >= min(0.0, margins[0]) or (hits and hits[2] > 0.4):
        return None
    entry = log.series("margin")[-1][0]
    proof = [f"{entry.where}: {said(entry, 'margin')}; by thirds of the log {listed(margins)}"]
    proof += [f"accuracy by thirds {listed(hits)}; a coin has 0.5"] if hits else []
    return Finding("pairs_inverted", 5.0, entry, tuple(proof))


def margin_grows(log: Log) -> Finding | None:
    levels, hits = trend(log.values("margin")), thirds(log.values("accuracy"))
    if levels is None or levels[2] <= levels[0] or (hits and hits[2] < 0.6):
        return None
    proof = f"the margin grows: {listed(levels)} by thirds of the log"
    return Finding("improves", 2.0, log.series("margin")[-1][0], (proof,))


RULES = (
    no_token_counts,
    stuck_at_the_start,
    at_chance,
    wrong_reference,
    accuracies_of_few_rows,
    pushed_down,
    pushed_down_again_and_again,
    worse_than_untrained,
    saturated,
    inverted,
    margin_grows,
)
