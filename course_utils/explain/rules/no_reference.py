"""DPO whose reference says nothing: `rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.rules.preference import LN_2

_OF_DPO = re.compile(
    r"\b\w*dpo\w*|\bref(?:erence)?[_ -](?:model|policy|log-?prob)\w*", re.IGNORECASE
)
_WITHOUT_REFERENCE = re.compile(
    r"\b(?:simpo|cpo|orpo|ref(?:erence)?[_-]free)(?!\w*['\"]?\s*[:=]\s*['\"]?(?:false|none|0))\w*",
    re.IGNORECASE,
)
FEW_PAIRS, SAME_SHARE, FAR_FROM_LN_2 = 3, 2e-3, 0.05
NOTHING = (
    "the reference's log-probs are 0: a reward is beta times (policy - reference), and here it is "
    "beta times the log-prob of the policy alone, so that the run is DPO without a reference"
)
ASSERT_IT = (
    "look at the reference's log-probs where the loss takes them: those of a cache that is joined "
    "over processes must not be summed or maximised with a 0 that stands for no value (a log-prob "
    "is below 0: begin with -inf, or gather); delete a stored cache, assert that none is 0, and "
    "train again. A loss without a reference (reference_free) does the same on purpose"
)


def reference_is_zero(log: Log, beside: Beside) -> Finding | None:
    """Each reward is the same fraction of the log-prob itself: the reference's log-probs are 0."""
    pairs = [
        (entry, entry.numbers[f"{kind}_reward"], entry.numbers[f"{kind}_logp"])
        for entry in log.entries
        for kind in ("chosen", "rejected")
        if {f"{kind}_reward", f"{kind}_logp"} <= entry.numbers.keys()
    ]
    named = beside.matching(_OF_DPO)
    if not named or beside.matching(_WITHOUT_REFERENCE) or "log_odds" in log.fields:
        return None
    if len(pairs) < 2 * FEW_PAIRS or any(not -math.inf < logp < -1 for *_, logp in pairs):
        return None
    (entry, reward, logp), *_ = pairs
    beta = reward / logp
    if beta <= 0 or any(abs(r / (beta * lp) - 1) > SAME_SHARE for _, r, lp in pairs):
        return None
    if len({round(lp, 1) for *_, lp in pairs}) < FEW_PAIRS:
        return None
    shown = said(entry, "chosen_reward", "chosen_logp")
    proof = [
        f"{entry.where}: {shown}: the reward is {beta:.3g} times the log-prob itself, and so are "
        f"all {len(pairs)} rewards of the log"
    ]
    proof.append(f"{named[0].where} says: {named[1]}")
    if abs(entry.numbers.get("loss", LN_2) - LN_2) > FAR_FROM_LN_2:
        proof.append(f"{said(entry, 'loss')} there; with a reference DPO begins at ln 2 = 0.6931")
    return Finding("wrong_reference", 9.0, entry, tuple(proof), why=NOTHING, advice=ASSERT_IT)


RULES_OF_SETTINGS = (reference_is_zero,)
