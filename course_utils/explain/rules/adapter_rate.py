"""An adapter that is trained at a rate for whole models: `rule(log, beside)`."""

import math
import re
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
LOW, LITTLE, MARGIN = 4e-6, 0.02, 1.5  # a rate; of the first losses; of a sum
WHOLE_EPOCH = 0.9  # of the rows: long enough for a loss to fall
STILL = 2e-3  # the largest number of a B that has learnt next to nothing
FOR_WHOLE = (
    "the learning rate is that of a whole model or of preference tuning, and far too low for an "
    "adapter: it is {rate:.2g} at most, so that a weight moves by {total} in the whole "
    "run, and what is loaded of it says next to nothing wherever it is served"
)
HUNDRED = (
    "1e-4 to 2e-4 for an adapter (with warm-up): the loss must fall clearly in the first hundred "
    "steps; what serves or merges it is not at fault"
)


def rate_of_a_whole_model(log: Log, beside: Beside) -> Finding | None:
    """A run of an adapter whose rate is 1e-6 or so, and whose loss does not fall."""
    named, rates = _named(beside), finite(log.values("learning_rate"))
    losses = log.series("loss")
    levels = thirds([value for _, value in losses])
    if named is None or len(rates) < 3 or levels is None or log.kind() == "policy":
        return None
    if not 0 < max(rates) <= LOW or beside.matching(_WHOLE) or not levels[0] > 0:
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
    why = FOR_WHOLE.format(
        rate=max(rates), total=f"about {total:.1g}" if steps else "next to nothing"
    )
    weight = 8.0 if moved else 6.5
    return Finding("rate_too_low", weight, entry, tuple(proof), why=why, advice=HUNDRED)


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


RULES_OF_SETTINGS = (rate_of_a_whole_model,)
