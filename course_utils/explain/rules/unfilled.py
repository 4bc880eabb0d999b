"""A model that was made on the meta device and never filled with weights: `rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said, spread
from course_utils.explain.rules.start import UNIFORM, VOCABULARIES

FEW, STANDS, NEAR = 4, 0.01, 0.01  # entries; nats that a loss may move; and be from ln(vocabulary)
LEAST = 9.5  # nats: the guess of a vocabulary of 13,000
_META = re.compile(
    r"init_device['\"]?\s*[:=]\s*['\"]?meta\b|\bmeta[ -]device\b|device=['\"]meta['\"]|"
    r"\binit_empty_weights\b|\blow_cpu_mem_usage\W+true\b|\bto_empty\(",
    re.IGNORECASE,
)
EMPTY = (
    "the weights were never loaded: the loss stands at a guess among all tokens from the first "
    "entry on and no gradient comes back, so all logits are alike, as of a model of zeros or of "
    "memory that was never written"
)
OF_META = "; it is made on the meta device, and what lays it out over the processes must fill it"
FILL = (
    "give the path of the pretrained weights to the call that lays the model out (shards it), or "
    "load them behind it, and look at the mean and the largest value of some weights before the "
    "first step; the rate is not at fault"
)


def never_filled(log: Log, beside: Beside) -> Finding | None:
    """The loss stands at ln(vocabulary) and grad_norm at 0, from the first entry on."""
    series = [(e, v) for e, v in log.series("loss") if "grad_norm" in e.numbers]
    losses = [loss for _, loss in series]
    if log.kind() != "supervised" or len(series) < FEW or spread(losses) > STANDS:
        return None
    norms, rates = log.values("grad_norm"), log.values("learning_rate")
    if any(norms) or (rates and not max(rates) > 0) or not LEAST < losses[0] < UNIFORM:
        return None
    entry = series[0][0]
    size = min(VOCABULARIES, key=lambda one: abs(math.log(one) - losses[0]))
    known = f"ln({size}) is {math.log(size):.4g}, a guess among the tokens of {VOCABULARIES[size]}"
    if abs(math.log(size) - losses[0]) > NEAR:
        known = f"that is a guess among about {math.exp(losses[0]):,.0f} tokens"
    proof = [f"{said(entry, 'loss', 'grad_norm')} in all {len(series)} entries: {known}"]
    meta = beside.matching(_META)
    if meta:
        proof.append(f"{meta[0].where} says: {meta[1]}")
    why = f"{EMPTY}{OF_META if meta else ''}"
    return Finding("guesses", 8.2, entry, tuple(proof), why=why, advice=FILL)


RULES_OF_SETTINGS = (never_filled,)
