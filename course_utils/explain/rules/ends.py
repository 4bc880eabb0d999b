"""Where replies end, beside the limit that is printed for them: `rule(log, beside)`."""

import math
import re

from course_utils.explain.beside import Beside
from course_utils.explain.finding import Finding
from course_utils.explain.log import Log
from course_utils.explain.numbers import said

NEARLY_ALL, FEW, NEAR = 0.9, 4, 0.95
_MASKED = re.compile(r"mask_truncated_completions['\"]?\s*[:= ]\s*['\"]?true|overlong_filter", re.I)
ANOTHER_END = (
    "nearly every reply counts as cut, and none reaches the limit: replies end with another token "
    "than the eos_token that the trainer looks for{}",
    "make the token that ends a reply the tokenizer's eos_token (generation_config.eos_token_id "
    "lists those that end it); a longer limit changes nothing",
)
UNLEARNT = ", and what counts as cut is left out of the loss"


def ended_by_another_token(log: Log, beside: Beside) -> Finding | None:
    """Replies that count as cut are all far shorter than the limit."""
    limit = beside.number("max_reply_length")
    both = [e for e in log.entries if {"truncated_share", "longest"} <= e.numbers.keys()]
    cut = [e for e in both if e.numbers["truncated_share"] >= NEARLY_ALL]
    if limit is None or len(both) < FEW or len(cut) < NEARLY_ALL * len(both):
        return None
    longest = max(entry.numbers["longest"] for entry in both)
    if not math.isfinite(longest) or longest >= NEAR * limit.number:
        return None
    masked = next(iter(beside.all_matching(_MASKED)), None)
    why, advice = ANOTHER_END
    proof = (
        f"{said(cut[0], 'truncated_share')} at {cut[0].where}, {len(cut)} of {len(both)} entries "
        f"above {NEARLY_ALL:g}",
        f"the longest reply of all has {longest:.0f} tokens, and {limit.written} is "
        f"{limit.number:g}",
        *([f"{masked[0].where} says: {masked[1]}"] if masked else []),
    )
    why = why.format(UNLEARNT if masked else "")
    return Finding("stops_elsewhere", 7.5, cut[0], proof, why=why, advice=advice)


RULES_OF_SETTINGS = (ended_by_another_token,)
