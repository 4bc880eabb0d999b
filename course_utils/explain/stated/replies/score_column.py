"""The score of a reply that is put at the last column of the batch, behind the reply's end."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.usual_words import PADDED_ON_THE_RIGHT

PUT_LAST = re.compile(
    r"\b(?P<to>\w*(?:rew|reward|score|ret)\w*|r)\[(?::|\.\.\.), ?-1\]\s*(?:\+=|=(?!=))\s*"
    r"(?P<what>.*\b\w*(?:score|reward|rm|verdict|outcome)\w*.*)"
)
_CUT_BY_MASK = re.compile(
    r"\b(?:last\w*|gae\w*|adv\w*|delta|returns?|running|g)\s*=\s*.*[*]\s*\w*mask\w*"
)
_ON_THE_LEFT = re.compile(r"\bleft[- ]?padd\w*|padding_side\W{1,5}left", re.IGNORECASE)
_ADVANTAGES = re.compile(r"\bgae\b|\badvantages?\b|\badv\b|\breturns?\b.*\bv\b", re.IGNORECASE)
_AT_THE_END = re.compile(
    r"\w*(?:rew|reward|score)\w*\[\s*(?:torch\.)?(?:arange|range)\(|\bscatter_(?:add_)?\(|"
    r"mask\w*\.(?:long\(\)\.)?sum\((?:-?1|dim=-?1|axis=-?1)\)\s*-\s*1|eos_(?:idx|ind\w*|pos\w*)\b",
    re.IGNORECASE,
)
SHOWN, SAID = 9.4, 8.0
BEHIND = (
    "the score is put at the last column of the padded batch, and not at the last token of each "
    "reply: it reaches only replies as long as the longest of their batch"
)
IS_LOST = (
    ". For every shorter one the return is multiplied by the mask between them, so that its score "
    "is lost, and what is paid is to be long: replies grow into the limit, whatever the reward "
    "model prefers"
)
FADES = ". For a shorter one it reaches the reply through the padding alone, if at all"


def put_behind_the_end(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that adds the score at `[:, -1]` of the rewards of tokens, under a mask of padding."""
    put, at_end = beside.matching(PUT_LAST), beside.matching(_AT_THE_END)
    right, masked = beside.matching(PADDED_ON_THE_RIGHT), beside.matching(_CUT_BY_MASK)
    if put is None or at_end or not beside.matching(_ADVANTAGES):
        return
    if beside.matching(_ON_THE_LEFT) and not right:
        return
    if not right and not masked:
        return
    rows = [one for one in (put, right, masked) if one]
    proof = tuple(line.says for line, _ in rows)
    why = BEHIND + (IS_LOST if masked else FADES)
    weight = SHOWN if right and masked else SAID
    yield Finding("score_behind_the_end", weight, put[0], proof, why=why)
