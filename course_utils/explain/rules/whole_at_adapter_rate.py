"""A whole model that is trained at a rate for adapters, and broken by it: `rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose

_WHOLE = re.compile(
    r"\bfull_finetune\w*|\b(?:finetuning|fine_?tuning|train|tuner|tuning)_?(?:type|mode|method)?['\"]?"
    r"\s*[:= ]\s*['\"]?full\b|\bfull[- _](?:fine-?tun\w*|sft|ft|param\w*(?:[- ]fine-?tuning)?)\b|"
    r"\b(?:no|without) (?:peft|q?lora|adapters?)\b|use_(?:peft|lora)['\"]?\W{1,3}false\b|"
    r"\ball (?:weights|param\w+) (?:are )?(?:train|unfro)\w*|"
    r"\btrainable(?: param\w*)?%?\W{1,3}100(?:\.0+)?\b",
    re.IGNORECASE,
)
_ADAPTER = re.compile(
    r"\b(?:lora_?(?:r|rank|alpha|target\w*|dropout)|lora_config|peft_config|LoraConfig)\b|"
    r"\b(?:adapter|finetuning_type|train_type|tuner_type)['\"]?\s*[:= ]\s*['\"]?q?lora\b",
    re.IGNORECASE,
)
_ADAPTER_OFF = re.compile(r"^\s*#\s*(?:adapter|peft_type|finetuning_type)\s*:\s*q?lora\b")
_ADAPTER_ON = re.compile(r"^\s*(?:adapter|peft_type|finetuning_type)\s*:\s*q?lora\b")
_SMALL = re.compile(
    r"(?<![\d.])\d{2,3} ?M\b(?! +[\w-]+\.\w)|\bfrom scratch\b|\bpretraining\b", re.I
)
HIGH, FEWEST, TIMES, ENDS = 8e-5, 5, 1.4, 1.1  # a rate; entries; times the loss of the start
BROKEN = (
    "the learning rate is one for adapters (1e-4 and more) and the whole model is trained: from "
    "{rate:.2g} on the steps break what the model knew. The loss climbs from {low:.4g} to "
    "{high:.4g}, and what it falls by afterwards is learnt anew, to {last:.4g}"
)
LOWER = (
    "1e-5 to 2e-5 for a whole model, gradients clipped at a norm of 1.0, and begin again from the "
    "untouched weights: what was saved is damaged; or an adapter at this rate"
)


def whole_model_at_an_adapters_rate(log: Log, beside: Beside) -> Finding | None:
    """All weights are trained at 1e-4 or so; the loss climbs early and never comes back."""
    named, rates = _named(beside), finite(log.values("learning_rate"))
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    if named is None or log.kind() != "supervised" or len(series) < FEWEST:
        return None
    if not rates or max(rates) < HIGH or beside.matching(_SMALL):
        return None
    top = max(range(len(series)), key=lambda n: series[n][1])
    (low, least), (peak, high), last = min(series[: top + 1], key=_loss), series[top], series[-1][1]
    if not least > 0 or high < TIMES * least or last < ENDS * least:
        return None
    risen = [e.numbers.get("learning_rate", 0.0) for e, _ in series[: top + 1]]
    if max(risen) < HIGH:
        return None
    bottom = next(n for n, (e, _) in enumerate(series) if e is low)
    broke = _begin_of_climb(series, bottom, TIMES * least)
    shown = [
        ("loss", "learning_rate") if "learning_rate" in e.numbers else ("loss",)
        for e in (low, peak)
    ]
    proof = (
        named.says,
        f"{said(low, *shown[0])} at {low.where}, {said(peak, *shown[1])} at {peak.where}, and "
        f"{last:.4g} at the end",
        *_norms(log),
    )
    why = BROKEN.format(
        rate=broke.numbers.get("learning_rate", max(rates)), low=least, high=high, last=last
    )
    return Finding("rate_too_high", 7.6, broke, proof, why=why, advice=LOWER)


def _begin_of_climb(series: list[tuple[Entry, float]], bottom: int, high: float) -> Entry:
    """Where the loss begins to rise without a stop to what is far above its least."""
    at = next(n for n in range(bottom, len(series)) if series[n][1] >= high)
    while at - 1 > bottom and series[at - 1][1] > series[at - 2][1]:
        at -= 1
    return series[at][0]


def _loss(pair: tuple) -> float:
    return pair[1]


def _norms(log: Log) -> list[str]:
    """How far grad_norm climbs over its first value, if it does."""
    norms = finite(log.values("grad_norm"))
    climbs = bool(norms) and max(norms) > 3 * norms[0]
    return [f"grad_norm is {norms[0]:.3g} at first and up to {max(norms):.3g}"] if climbs else []


def _named(beside: Beside) -> Line | None:
    """A program's line that says that all weights are trained, or a sentence, if no setting of an
    adapter stands beside it."""
    off = beside.matching(_ADAPTER_OFF)
    if off and not beside.matching(_ADAPTER_ON):
        return off[0]
    lines = [line for line in beside.words if _WHOLE.search(line.text)]
    if any(not is_prose(line.text) for line, _ in beside.all_matching(_ADAPTER)):
        return None
    return next((one for one in lines if not is_prose(one.text)), next(iter(lines), None))


RULES_OF_SETTINGS = (whole_model_at_an_adapters_rate,)
