"""A policy that learns, by its reward or by a held-out evaluation, while a number beside them moves
in a way that frightens: `rule(log, beside)`."""

import re
from itertools import pairwise
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, thirds, trend

FEW, DIP, RISE, KEEPS_UP = 4, 0.02, 0.1, 0.4  # evaluations; of one; of the first; of the reward's
FELL, GONE, CALM_KL, CALM_CLIPS = 0.7, 0.02, 0.3, 0.1  # of an entropy; nats; nats; of the tokens
HELD = 0.6  # of a length
CUT, HALF, SAME = 0.05, 0.5, 0.95  # of the replies; of their share; of the length of whole replies
LEVEL = 0.3  # of a score that is made of groups with both kinds of replies
SMALL = 0.05  # of a loss that is 0 but for the lengths of its replies
ON_POLICY = (
    "a clip ratio of 0 and a loss around 0 are what one update per batch of replies gives: the "
    "policy is still the one that sampled, so the ratio is 1, nothing can be clipped, and the "
    "advantages of a group add up to 0. The gradient is not 0, and the policy learns"
)
_WHOLE_BATCH = re.compile(r"\btrain_batch_size['\"]?\s*[:=]\s*(\d+)")
_PART_OF_BATCH = re.compile(r"\bppo_mini_batch_size['\"]?\s*[:=]\s*(\d+)")
_SEVERAL_EPOCHS = re.compile(r"\bppo_epochs['\"]?\s*[:=]\s*(?!1\b)\d")
_FILTERS = re.compile(
    r"filter_groups(?:\.enabled?)?['\"]?\s*[:=]\s*['\"]?true|use_dynamic_sampling['\"]?\s*[:=]\s*"
    r"['\"]?true|dynamic_sample['\"]?\s*[:=]\s*['\"]?true",
    re.IGNORECASE,
)


def sure_of_what_is_right(log: Log, beside: Beside) -> Finding | None:
    """The entropy falls while the reward and the evaluation rise, and the policy stays near."""
    entropy, reward, judged = trend(log.values("entropy")), _rises(log), _judged(log)
    if entropy is None or not reward or not judged or not GONE < entropy[2] < FELL * entropy[0]:
        return None
    lengths, cut = thirds(log.values("length")), thirds(log.values("truncated_share"))
    if not _stays_near(log) or (lengths and lengths[2] < HELD * lengths[0] and not _by_ending(log)):
        return None
    if cut and cut[2] > cut[0] + CUT:
        return None
    entry = log.series("entropy")[-1][0]
    proof = (f"{entry.names['entropy']} by thirds of the log {listed(entropy)}", reward, judged)
    return Finding("sure_of_what_is_right", 2.8, entry, (*proof, *_near(log)))


def shorter_by_ending(log: Log, beside: Beside) -> Finding | None:
    """Replies get shorter since fewer run into the limit; those that end by themselves do not."""
    found, reward, judged = _by_ending(log), _rises(log), _judged(log)
    if not found or not reward or not judged or not _stays_near(log):
        return None
    entry, proof = found
    return Finding("shorter_by_ending", 3.0, entry, (*proof, reward, judged))


def kept_groups_only(log: Log, beside: Beside) -> Finding | None:
    """Groups without a spread are left out: the score of the rest stands, the evaluation rises."""
    rewards, judged, filters = thirds(log.values("reward")), _judged(log), beside.matching(_FILTERS)
    if rewards is None or not judged or not filters or not _stays_near(log):
        return None
    if max(map(abs, rewards)) > LEVEL or max(rewards) - min(rewards) > LEVEL:
        return None
    entry, batches = log.series("reward")[-1][0], _batches(log)
    proof = [
        f"{filters[0].where} says: {filters[1][:MAX_QUOTE]}",
        f"{entry.names['reward']} by thirds of the log {listed(rewards)}: of the kept groups",
        judged,
    ]
    if batches and batches[-1] > batches[0]:
        proof.append(
            f"more groups are left out as it learns: {batches[0]:g} batches to fill a step at "
            f"first, {batches[-1]:g} at the end"
        )
    return Finding("kept_groups_only", 3.0, entry, tuple(proof))


def one_update_a_batch(log: Log, beside: Beside) -> Finding | None:
    """No token is clipped since a batch of replies gives one update, and the policy learns."""
    clips, norms = log.series("clip_ratio"), log.values("grad_norm")
    reward, judged, whole = _rises(log), _judged(log), beside.matching(_WHOLE_BATCH)
    part, again = beside.matching(_PART_OF_BATCH), beside.matching(_SEVERAL_EPOCHS)
    if len(clips) < FEW or any(value for _, value in clips) or not norms or not min(norms) > 0:
        return None
    if not (reward and judged and whole and part) or again or not _stays_near(log):
        return None
    losses = finite(log.values("policy_loss"))
    if _WHOLE_BATCH.search(whole[1])[1] != _PART_OF_BATCH.search(part[1])[1] or not losses:
        return None
    if max(map(abs, losses)) > SMALL:
        return None
    entry = clips[0][0]
    proof = (
        f"{said(entry, 'clip_ratio')} in all {len(clips)} entries, and a loss of the policy "
        f"between {min(losses):.3g} and {max(losses):.3g}",
        f"{whole[1].strip()} ({whole[0].where}) and {part[1].strip()} ({part[0].where}): one "
        "update for each batch of replies",
        f"gradients arrive: grad_norm from {min(norms):.3g} to {max(norms):.3g}",
        reward,
        judged,
    )
    return Finding("on_policy_zero_loss", 3.0, entry, proof, why=ON_POLICY)


def _batches(log: Log) -> list[float]:
    """The batches that each step took, where a step has its score."""
    return finite(v for e, v in log.series("gen_batches") if "reward" in e.numbers)


def _rises(log: Log) -> str:
    levels = trend(log.values("reward"))
    if levels is None or not levels[2] > levels[0]:
        return ""
    return f"the reward rises: {listed(levels)} by thirds of the log"


def _judged(log: Log) -> str:
    """How one held-out number rises, without a fall on its way, and about as far as the reward."""
    series = [(e, v) for e, v in log.series("eval_accuracy") if v == v]
    hits, reward = [v for _, v in series], thirds(log.values("reward"))
    if len(hits) < FEW or len({e.names["eval_accuracy"] for e, _ in series}) > 1:
        return ""
    if any(now < before - DIP for before, now in pairwise(hits)):
        return ""
    rise = hits[-1] - hits[0]
    gained = max(0.0, reward[2] - reward[0]) if reward else 0.0
    if rise < max(DIP, RISE * abs(hits[0])) or rise < KEEPS_UP * gained:
        return ""
    name = series[0][0].names["eval_accuracy"]
    return f"the evaluation rises: {name} {hits[0]:.3g} to {hits[-1]:.3g} in {len(hits)} of them"


def _stays_near(log: Log) -> bool:
    """Whether no kl and no share of clipped tokens is large."""
    kls = finite(log.values("kl") + log.values("kl_loss") + log.values("old_kl"))
    clips = finite(log.values("clip_ratio"))
    return all(abs(v) < CALM_KL for v in kls) and all(v < CALM_CLIPS for v in clips)


def _near(log: Log) -> list[str]:
    """Of what shows that the policy has not left, the last numbers."""
    names = [name for name in ("kl_loss", "kl", "clip_ratio") if log.values(name)]
    told = [said(log.series(name)[-1][0], name) for name in names]
    return [f"at the end: {', '.join(told)}"] if told else []


def _by_ending(log: Log) -> tuple[Entry, tuple[str, ...]] | None:
    """By the arithmetic of the mean: the share that is cut, at the limit, and the rest."""
    needed = {"length", "truncated_share", "longest"}
    entries = [entry for entry in log.entries if needed <= entry.numbers.keys()]
    lengths, cut = (thirds([e.numbers[n] for e in entries]) for n in ("length", "truncated_share"))
    if lengths is None or cut is None or not lengths[2] < (1 - RISE) * lengths[0]:
        return None
    limit = max(entry.numbers["longest"] for entry in entries)
    if not cut[0] > CUT or not cut[2] < HALF * cut[0] or entries[0].numbers["longest"] < limit:
        return None
    whole = [_whole(entry, limit) for entry in entries if entry.numbers["truncated_share"] < 0.9]
    size = len(whole) // 3
    if not size or fmean(whole[-size:]) < SAME * fmean(whole[:size]):
        return None
    first, last = entries[0], entries[-1]
    shown = ("length", "truncated_share")
    return last, (
        f"{said(first, *shown)} at {first.where}, {said(last, *shown)} at {last.where}",
        f"{first.numbers['truncated_share']:.3g} of them at {limit:g} tokens leave "
        f"{_whole(first, limit):.0f} for the others at first, and "
        f"{_whole(last, limit):.0f} at the end: replies that end by themselves do not shrink",
    )


def _whole(entry: Entry, limit: float) -> float:
    """The mean length of the replies that are not cut."""
    share = entry.numbers["truncated_share"]
    return (entry.numbers["length"] - share * limit) / (1 - share)


RULES_OF_SETTINGS = (
    sure_of_what_is_right,
    shorter_by_ending,
    kept_groups_only,
    one_update_a_batch,
)
