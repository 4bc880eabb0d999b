"""An entropy that is paid for and grows until the policy is random: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import thirds
from course_utils.explain.rules.drift import entropy_runs

_PAID = re.compile(
    r"\b(?:entropy_(?:coeff?|coefficient|loss_coef|bonus|weight)|ent_coef)['\"]?"
    r"(?:\s*[=:]\s*|\s+)['\"]?(?:0(?:\.0+)?\s*(?:->|\u2192|to)\s*)?(?P<n>0?\.\d+|\d(?:\.\d+)?e-\d+|[1-9]\d*(?:\.\d+)?)(?![\d.]*\w)",
    re.IGNORECASE,
)
_NO_KL = re.compile(
    r"\buse_kl_(?:loss|in_reward)['\"]?\s*[=:]\s*['\"]?false\b|"
    r"\b(?:kl_coef|init_kl_coef|kl_loss_coef|beta)['\"]?(?:\s*[=:]\s*|\s+)0(?:\.0+)?\b(?![.\d])",
    re.IGNORECASE,
)
TIMES, LEAST = 3.0, 1.0  # of its first third; nats per token
PAID = (
    "the loss pays for entropy ({coefficient}{without}), and the policy collects that: its entropy "
    "grows {times:.0f}-fold, the replies become random tokens and run to the limit, and what they "
    "earn falls. A longer limit, another mean over tokens or another seed mends none of it"
)
WITHOUT = ", and no KL term holds it"
LEAVE_OUT = (
    "switch the bonus off (or take a tenth, with a floor at which it ends), and a small KL to the "
    "reference if it still climbs; go on from a checkpoint before the entropy turned up"
)
SURE = 9.2


def paid_until_random(log: Log, beside: Beside) -> Finding | None:
    """The entropy grows threefold while the reward falls, and a setting pays for it."""
    found, paid = entropy_runs(log), beside.first(_PAID)
    levels = thirds(log.values("entropy"))
    if found is None or paid is None or not float(paid[1]["n"]) or levels is None:
        return None
    last = max(levels[2], log.values("entropy")[-1])
    if levels[0] <= 0 or last < max(LEAST, TIMES * levels[0]) or len(found.for_it) < 2:
        return None
    no_kl = beside.matching(_NO_KL)
    proof = [f"{paid[0].where} says: {paid[1][0]}", *found.for_it]
    proof += [f"{no_kl[0].where} says: {no_kl[1]}"] if no_kl else []
    without = WITHOUT if no_kl else ""
    why = PAID.format(coefficient=paid[1][0], without=without, times=last / levels[0])
    return Finding("entropy_runs", SURE, found.at, tuple(proof), why=why, advice=LEAVE_OUT)


RULES_OF_SETTINGS = (paid_until_random,)
