"""An adapter that is trained at a rate for whole models: `rule(log, beside)`."""

import math
import re
from collections.abc import Iterator
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, thirds
from course_utils.explain.paste.sentences import is_prose

ADAPTER = re.compile(r"\b(?:q?lora|peft|adapter)(?:_\w+|config|\b)", re.IGNORECASE)
_OF_B = re.compile(
    r"(?:\blora_?B\b|^\s*B\b|\bB\s*:).*?\bmax\w*\W{0,6}(?P<n>\d(?:\.\d+)?(?:e-\d+)?)", re.IGNORECASE
)
_WHOLE = re.compile(
    r"finetuning_type['\"]?\s*[:=]\s*['\"]?full|\bfull[- ](?:fine-?tun\w*|ft|parameter)\b|"
    r"\b(?:no|without|instead of|not) (?:a )?(?:q?lora|adapter)|use_(?:peft|lora)\W+false",
    re.IGNORECASE,
)
_IN_POLICY = re.compile(  # of this run: a setting, a line of code, the count that peft prints
    r"\b(?:LoraConfig|get_peft_model)\([^)]{0,80}|--?use_peft\b(?!\W{1,3}false)|"
    r"\blora[_.](?:rank|r|dim)\W{1,3}[1-9]\d*|\bpeft_config\s*=\s*(?!None)\w+|"
    r"(?:train|finetuning|tuner)_type\W{1,3}q?lora\b|trainable%\W{1,3}(?:0\.\d+|[1-9]\.\d+)\b",
    re.IGNORECASE,
)
_NORM_OF_B = re.compile(
    r"(?:\blora_?B\b|\|\|? ?B ?\|?\||\bnorms? of (?:the )?(?:lora_?)?B\b)"
    r".{0,60}?(?<![\w.])(?P<n>0?\.\d+|\d(?:\.\d+)?e-\d+)(?![\w.]*\w)",
    re.IGNORECASE,
)
LEAST, ENOUGH, MANY_STEPS = 6, 10, 50  # entries; those without a step
RISES, LEVEL = 0.06, 0.04  # of a reward; of an entropy
NO_SPREAD, MOST_TIED, NO_KL, NO_CLIP, SMALL_B = 0.02, 0.9, 1e-3, 1e-3, 0.02
FOR_WHOLE_POLICY = (
    "the learning rate ({rate:.2g}) is one for training all weights, and 10 to 100 times too low "
    "for an adapter: B begins at 0 and hardly leaves it, so that the policy stays where it was, "
    "however much its rewards differ"
)
TENFOLD = (
    "raise the rate to 2e-5 to begin with (1e-5 to 1e-4 is usual with LoRA): the kl must then "
    "leave 0 within some tens of steps; rewards, groups and what the sampler is sent are sound"
)
LOW, LITTLE, MARGIN = 4e-6, 0.02, 1.5  # a rate; of the first losses; of a sum
WHOLE_EPOCH = 0.9  # of the rows: long enough for a loss to fall
LATE = 0.5  # of the epochs
STILL = 2e-3  # the largest number of a B that has learnt next to nothing
FOR_WHOLE = (
    "the learning rate is that of {whose}, and far too low for an adapter: it is {rate:.2g} at "
    "most, so that a weight moves by {total} in the whole run, and {so}"
)
SAYS_NOTHING = "what is loaded of it says next to nothing wherever it is served"
OF_PAIRS = (
    "5e-6 to 5e-5 with LoRA in preference tuning: the margin must leave 0 clearly in the "
    "first hundred steps; the reference is not at fault"
)
HUNDRED = (
    "1e-4 to 2e-4 with LoRA (and warm-up): the loss must fall clearly in the first hundred "
    "steps; what serves or merges it is not at fault"
)


def rate_of_a_whole_model(log: Log, beside: Beside) -> Finding | None:
    """A run of an adapter whose rate is 1e-6 or so, and whose loss does not fall."""
    named, rates = _named(beside), finite(log.values("learning_rate"))
    losses = log.series("loss")
    levels = thirds([value for _, value in losses])
    if named is None or len(rates) < 3 or levels is None or log.kind() == "policy":
        return None
    if not 0 < max(rates) <= LOW or not levels[0] > 0 or _is_whole(beside, named):
        return None
    if not _is_from_its_beginning(log):
        return None
    if not abs(levels[0] - levels[2]) < LITTLE * levels[0]:
        return None
    steps = max((e.numbers.get("step", 0.0) for e in log.entries), default=0.0)
    total = fmean(rates) * max(steps, len(rates)) if steps else 0.0
    moved = _moved(beside, total or STILL / MARGIN)
    epochs = max((e.numbers.get("epoch", 0.0) for e in log.entries), default=0.0)
    if not (steps or moved or epochs >= WHOLE_EPOCH):
        return None
    entry = next(e for e, rate in log.series("learning_rate") if rate == max(rates))
    adds_up = f"; over {steps:g} steps it adds up to about {total:.1g}" if steps else ""
    proof = [
        f"{entry.where}: learning_rate {max(rates):.3g} at most{adds_up}",
        f"the loss by thirds of the log: {listed(levels)}",
        named.says,
        *([] if steps else [f"{epochs:.3g} epochs are over"] if epochs else []),
        *moved,
    ]
    of_pairs = log.kind() == "preference"
    why = FOR_WHOLE.format(
        whose="a whole model" if of_pairs else "a whole model or of preference tuning",
        rate=max(rates),
        total=f"about {total:.1g}" if steps else "next to nothing",
        so="the policy is still next to the reference" if of_pairs else SAYS_NOTHING,
    )
    weight, advice = 8.0 if moved else 6.5, OF_PAIRS if of_pairs else HUNDRED
    return Finding("rate_too_low", weight, entry, tuple(proof), why=why, advice=advice)


def _is_whole(beside: Beside, named: Line) -> bool:
    """Whether a line says that all weights are trained; a sentence may speak of another recipe."""
    lines = [line for line, _ in beside.all_matching(_WHOLE)]
    return any(is_prose(named.text) or not is_prose(line.text) for line in lines)


def _is_from_its_beginning(log: Log) -> bool:
    """Whether the paste is not the tail of a run alone, whose rate has come down by then."""
    for name in ("epoch", "step"):
        counts = finite(log.values(name))
        if len(counts) > 1:
            return counts[0] < LATE * counts[-1]
    return True


def policy_hardly_moves(log: Log, beside: Beside) -> Finding | None:
    """A policy with an adapter and a rate of 1e-6 or so, whose reward stands though it tells
    replies apart, and that stays where it was by its KL, its clipping, its entropy or its B."""
    named, rates = beside.matching(_IN_POLICY), finite(log.values("learning_rate"))
    asked = beside.printed("learning_rate")
    rates = rates if any(rates) else [asked.number] if asked and asked.number else []
    rewards = finite(log.values("reward"))
    if log.kind() != "policy" or named is None or not _is_long(log, len(rewards)):
        return None
    if not rates or not 0 < max(rates) <= LOW or not _tells_apart(log) or _rises(rewards):
        return None
    still = [*_still(log), *_of_b(beside)]
    if not still:
        return None
    entry = log.series("reward")[0][0]
    proof = (
        f"{named[0].where} says: {named[1]}",
        f"the highest learning rate shown is {max(rates):.2g}",
        f"the reward by thirds of the log: {listed(thirds(rewards))}",
        *still,
    )
    why = FOR_WHOLE_POLICY.format(rate=max(rates))
    return Finding("rate_too_low", 7.6, entry, proof, why=why, advice=TENFOLD)


def _is_long(log: Log, count: int) -> bool:
    """Whether a policy would have moved by now: after so many steps, or else entries."""
    steps = max((e.numbers.get("step", 0.0) for e in log.entries), default=0.0)
    return count >= (LEAST if steps >= MANY_STEPS else ENOUGH)


def _tells_apart(log: Log) -> bool:
    """Whether replies of a group earn different rewards, as far as the log shows it."""
    spreads, tied = finite(log.values("reward_std")), finite(log.values("zero_std_share"))
    return (not spreads or fmean(spreads) > NO_SPREAD) and (not tied or fmean(tied) < MOST_TIED)


def _rises(rewards: list[float]) -> bool:
    first, _, last = thirds(rewards)
    return abs(last - first) > RISES * max(abs(first), abs(last))


def _still(log: Log) -> Iterator[str]:
    """Numbers of a policy that has not moved from where it began."""
    kl = [abs(v) for name in ("kl", "kl_loss") for v in finite(log.values(name))]
    if kl and 0 < max(kl) < NO_KL:
        yield f"the kl is {max(kl):.2g} at most, in all of the log"
    clipped = finite(log.values("clip_ratio"))
    levels = thirds(log.values("entropy"))
    is_level = levels and abs(levels[2] - levels[0]) < LEVEL * abs(levels[0])
    if is_level and not any(one > NO_CLIP for one in clipped):
        yield f"the entropy stays where it was: {listed(levels)} by thirds"


def _of_b(beside: Beside) -> Iterator[str]:
    """A line that says how small B is, which begins at 0."""
    for line in beside.words:
        found = _NORM_OF_B.search(line.text)
        if found and 0 < float(found["n"]) <= SMALL_B:
            yield line.says
            return


def _named(beside: Beside) -> Line | None:
    """A line that speaks of an adapter: a program's, or else a sentence."""
    lines = [line for line in beside.words if ADAPTER.search(line.text)]
    return next((one for one in lines if not is_prose(one.text)), next(iter(lines), None))


def _moved(beside: Beside, total: float) -> list[str]:
    """The largest number of B, which begins at 0, where it is not beyond the sum of the rates."""
    for line, words in beside.all_matching(_OF_B):
        value = float(_OF_B.search(words)["n"])
        if math.isfinite(value) and 0 < value <= MARGIN * total:
            return [line.says]
    return []


RULES_OF_SETTINGS = (rate_of_a_whole_model, policy_hardly_moves)
