"""Pairs that are one to the run: one score for both replies, or one model as its own reference."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, margins_of, said, share, spread, trend
from course_utils.explain.rules.preference import LN_2

ALL_ALIKE = (
    "chosen and rejected are the same tokens in each pair: their log-probs are one number, so that "
    "the margin is 0 and nothing is learnt, whatever the rate. Code that fills both from one "
    "object, one column for both, or a limit that cuts away where they differ does that"
)
ONE_TEXT = 8.0  # above what follows from it: a policy that stays its reference
MOVES, FAR, MANY = 0.01, 0.1, 6  # of a log-prob, of rows alike and of any rows; entries
_PRECOMPUTED = re.compile(r"precompute_ref_log_probs['\"]?\s*[=:]\s*['\"]?true", re.IGNORECASE)
_NO_REFERENCE = re.compile(r"\bref_model['\"]?\s*[=:]\s*['\"]?none\b", re.IGNORECASE)
OF_ITSELF = (
    "policy and reference are the same weights: what stands for the reference is computed with the "
    "policy as it is at that step, so that all rewards are 0 whatever is learnt. The gradient "
    "is not 0, and nothing holds the policy where it began",
    "give the trainer a frozen copy of the weights that the run begins with as reference; start "
    "again from these weights",
)
NOT_TAKEN = (
    ". The log-probs of the reference were computed before the training, and are not used",
    "another version of the trainer, which takes the precomputed log-probs from the rows, or "
    "precompute_ref_log_probs=False; then {}",
)


def reference_moves(log: Log) -> Finding | None:
    """Policy and reference have the same log-probs in every entry, and these move."""
    both = [e for e in log.entries if {"chosen_logp", "reference_logp"} <= e.numbers.keys()]
    ours = [entry.numbers["chosen_logp"] for entry in both]
    if len(both) < 3 or ours != [entry.numbers["reference_logp"] for entry in both]:
        return None
    norms = finite(log.values("grad_norm"))
    if max(ours) - min(ours) < MOVES * abs(ours[0]) or (norms and max(norms) == 0):
        return None
    entry = both[-1]
    proof = (
        f"{entry.where}: {said(entry, 'chosen_logp', 'reference_logp')}; the two are the same to "
        f"the last digit in all {len(both)} entries",
        f"both move, from {max(ours):.5g} to {min(ours):.5g}: a frozen reference would not",
    )
    return Finding("reference_moves", 7.5, entry, proof)


def scored_by_itself(log: Log, beside: Beside) -> Finding | None:
    """All rewards are exactly 0, and the policy learns something: its log-probs move far."""
    pairs = [e for e in log.entries if {"chosen_reward", "rejected_reward"} <= e.numbers.keys()]
    rewards = {e.numbers[name] for e in pairs for name in ("chosen_reward", "rejected_reward")}
    norms, moved = log.values("grad_norm"), _moves(log)
    if len(pairs) < MANY or rewards != {0.0} or not norms or min(norms) <= 0 or not moved:
        return None
    if spread(log.values("loss")) > 1e-3:
        return None
    entry = pairs[-1]
    shown = [n for n in ("chosen_reward", "rejected_reward", "loss") if n in entry.numbers]
    settings = [f for one in (_PRECOMPUTED, _NO_REFERENCE) if (f := beside.matching(one))]
    proof = (
        f"{entry.where}: {said(entry, *shown)}; so in all {len(pairs)} entries, though gradients "
        f"arrive (grad_norm {min(norms):.3g} to {max(norms):.3g})",
        f"the policy moves: {moved}; a frozen reference would not go with it",
        *(f"{line.where} says: {words}" for line, words in settings),
    )
    why, advice = OF_ITSELF
    if beside.matching(_PRECOMPUTED):
        why, advice = why + NOT_TAKEN[0], NOT_TAKEN[1].format(advice)
    return Finding("reference_moves", 7.6, entry, proof, why=why, advice=advice)


def _moves(log: Log) -> str:
    """The log-prob that goes one way, further than from rows to other rows; "" if none does."""
    for name in ("rejected_logp", "chosen_logp"):
        levels = trend(log.values(name))
        if levels and abs(levels[2] - levels[0]) > FAR * abs(levels[0]):
            written = log.series(name)[0][0].names[name]
            return f"{written} by thirds of the log {listed(levels)}"
    return ""


def one_score_without_gradient(log: Log) -> Finding | None:
    """A loss of ln 2, no gradient and nothing right: both replies of a pair get one score.

    A pair's gradients cancel where its two scores are read at the same tokens, so this is no sign
    that nothing is trainable.
    """
    series, hits = log.series("loss"), log.values("accuracy") or log.values("eval_accuracy")
    norms = log.values("grad_norm")
    if log.kind() == "policy" or len(series) < 3 or not hits or any(hits) or any(norms):
        return None
    if "chosen_reward" in log.fields and "rejected_reward" in log.fields:
        return None  # of DPO, whose accuracy is 0 where policy and reference are the same
    if not norms or max(abs(loss - LN_2) for _, loss in series) > 1e-4:
        return None
    entry = series[0][0]
    proof = (
        f"{said(entry, 'loss', 'grad_norm')} in all {len(series)} entries: ln 2, as where both "
        "scores of every pair are equal",
        f"an accuracy of exactly 0 in {len(hits)} entries: no chosen reply scores above its "
        "rejected one, and none below",
    )
    why = (
        "both replies of every pair get one and the same score, so their gradients cancel: it is "
        "read at a token before the replies differ (a pad token that also ends the question's "
        "turn), or the replies are the same"
    )
    return Finding("rows_pooled_wrong", 7.6, entry, proof, why=why)


def same_score(log: Log) -> Finding | None:
    """Margin exactly 0 and loss ln 2 beside a gradient: both replies of a pair are one to it."""
    margins = margins_of(log)
    same = [entry for entry, margin in margins if margin == 0]
    losses = finite(e.numbers.get("loss", LN_2) for e in same)
    if len(same) < 3 or share(same, margins) < 0.9 or max(abs(x - LN_2) for x in losses) > 1e-3:
        return None
    logps = [[e.numbers.get(f"{kind}_logp") for kind in ("chosen", "rejected")] for e in same]
    if any(None not in pair and pair[0] != pair[1] for pair in logps):
        return None  # the two replies differ, and each has a log-prob of its own
    is_one_text = all(None not in pair and pair[0] for pair in logps)  # 0 is of no token
    if all(entry.numbers.get("chosen_reward") == 0 for entry in same) and not is_one_text:
        return None  # policy_is_reference
    key = "pairs_alike" if "chosen_reward" in log.fields else "rows_pooled_wrong"
    proof = [f"{len(same)} of {len(margins)} entries have a margin of exactly 0, the loss is ln 2"]
    if is_one_text:
        shown = said(same[0], "chosen_logp", "rejected_logp")
        proof.append(f"{same[0].where}: {shown}; the two are the same number in all of them")
    weight = ONE_TEXT if is_one_text else 6.5
    return Finding(key, weight, same[0], tuple(proof), why=ALL_ALIKE if is_one_text else "")


def same_pairs(log: Log) -> Finding | None:
    """What else makes one score of two replies: the replies are the same."""
    found = same_score(log)
    if found is None or found.key == "pairs_alike":
        return None
    return Finding("pairs_alike", found.weight - 1, found.at, found.for_it)


RULES = (reference_moves, one_score_without_gradient, same_score, same_pairs)
RULES_OF_SETTINGS = (scored_by_itself,)
