"""GRPO and PPO: sampler and trainer differ before an update parts them: `rule(log, beside)`."""

import math
import re
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

FEW, APART, GROWN = 3, 1.3, 3.0  # entries; times the sampler's perplexity; times the first
CLIPPED, MOVED = 0.1, 0.1  # share of tokens; nats of kl: in one update from the policy that sampled
_ROLLOUT = re.compile(r"(?<![\w])(?:data[._])?train_batch_size['\"]?\s*[=:]\s*(\d+)")
_MINI = re.compile(r"\b(?:\w+\.)*ppo_mini_batch_size['\"]?\s*[=:]\s*(\d+)")
_EPOCHS = re.compile(r"\bppo_epochs['\"]?\s*[=:]\s*(?:[2-9]|\d\d)|\bnum_iterations\W+[2-9]")
_ONE_UPDATE = re.compile(
    r"\b(?:one|1|a single) (?:gradient |optimi[sz]er |policy )?(?:update|step)s? (?:per|for each|a|"
    r"each|for every) (?:rollout|batch|sampled|generation)",
    re.IGNORECASE,
)
_PADDED = re.compile(r"use_remove_padding['\"]?\s*[=:]\s*['\"]?false", re.IGNORECASE)
OF_OTHER_INPUT = (
    "the trainer gives the sampled tokens other probabilities than {}, from the first entry on, "
    "where both still have the same weights: nothing has moved, so the trainer scores another "
    "input (attention mask, padding, positions, template), drops out, or divides by another "
    "temperature"
)
THE_ENGINE = "the engine that sampled them"
WHAT_IS_KEPT = "those that it holds them against (the engine's, or its own of just before)"
COMPARE = (
    "score one sampled reply in the trainer, alone and without padding, and compare its log-probs "
    "with the engine's token by token: where they agree, the mask, the padding or the positions "
    "of the batch are wrong{}; neither rate nor number of updates changes it"
)
UNPADDED = " (use_remove_padding=True takes another path: try it, or a newer version)"


def scored_otherwise(log: Log, beside: Beside) -> Finding | None:
    """The trainer's perplexity is above the sampler's, or much is clipped in a single update."""
    if log.kind() != "policy":
        return None
    apart, clipped = _perplexities(log), _clipped_at_first(log, beside)
    if not apart and not clipped:
        return None
    entry, proof = apart[0] if apart else clipped[0], []
    for found in (apart, clipped):
        proof += found[1] if found else []
    padded = beside.matching(_PADDED)
    if padded:
        proof.append(f"{padded[0].where} says: {padded[1]}")
    return Finding(
        "engines_disagree",
        7.7,
        entry,
        tuple(proof),
        why=OF_OTHER_INPUT.format(THE_ENGINE if apart else WHAT_IS_KEPT),
        advice=COMPARE.format(UNPADDED if padded else ""),
    )


def _perplexities(log: Log) -> tuple[Entry, list[str]] | None:
    """The first entry, where the trainer finds the tokens less likely in all, by one factor."""
    names = ("trainer_perplexity", "sampler_perplexity")
    both = [e for e in log.entries if set(names) <= e.numbers.keys()]
    pairs = [tuple(entry.numbers[name] for name in names) for entry in both]
    is_first = bool(both) and both[0].numbers.get("step", 1.0) <= 1
    if (
        len(both) < FEW
        or not is_first
        or not all(1 <= v < math.inf for pair in pairs for v in pair)
    ):
        return None
    factors = [mine / theirs for mine, theirs in pairs]
    if min(factors) < APART or median(factors[-FEW:]) > GROWN * factors[0]:
        return None
    return both[0], [
        f"{said(both[0], *names)} at {both[0].where}; {min(factors):.3g} to {max(factors):.3g} "
        f"times as high in all {len(both)} entries"
    ]


def _clipped_at_first(log: Log, beside: Beside) -> tuple[Entry, list[str]] | None:
    """The first entry, where much is clipped although a batch is one update."""
    first = next((e for e in log.entries if e.numbers.keys() & {"clip_ratio", "old_kl"}), None)
    if first is None or first.numbers.get("step", 1.0) > 1:
        return None
    shown = [
        name
        for name, most in (("clip_ratio", CLIPPED), ("old_kl", MOVED))
        if most < abs(first.numbers.get(name, 0.0)) < math.inf
    ]
    update = _one_update(beside)
    if not shown or not update:
        return None
    return first, [f"{said(first, *shown)} at {first.where}, in the first update", update]


def _one_update(beside: Beside) -> str:
    """What says that each batch of replies is one update; "" if nothing does."""
    if beside.matching(_EPOCHS):
        return ""
    rollout, mini = beside.matching(_ROLLOUT), beside.matching(_MINI)
    if rollout and mini and _number(_ROLLOUT, rollout[1]) == _number(_MINI, mini[1]) > 0:
        return f"one update a batch: {rollout[1]} ({rollout[0].where}), {mini[1]} ({mini[0].where})"
    told = beside.matching(_ONE_UPDATE)
    return f"{told[0].where} says: {told[1]}" if told and not (rollout and mini) else ""


def _number(pattern: re.Pattern, text: str) -> int:
    return int(pattern.search(text)[1])


RULES_OF_SETTINGS = (scored_otherwise,)
