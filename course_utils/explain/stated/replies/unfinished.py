"""How many replies have no end of their thoughts or no answer, as somebody has counted, and the
limit that cuts them."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import plain_number
from course_utils.explain.paste.log import Log

_OF = (
    r"(?P<all>\d[\d,]*) (?:\w+ )?"
    r"(?:rollouts|responses|completions|repl(?:y|ies)|generations|samples)"
)
_LACKS = r"(?:no|without|lack\w*|miss\w*|never\b.{0,20})"
_ENDS = r".{0,12}(?:</\w+>|\\boxed|boxed|final answer|eos\b|end[- ]token|closing)"
_COUNTED = (
    re.compile(
        rf"\b[Oo]f (?:the )?{_OF}\b.{{0,30}}?\b(?P<some>\d[\d,]*) (?:\w+ )?{_LACKS} ?{_ENDS}"
    ),
    re.compile(rf"\b(?P<some>\d[\d,]*) (?:out )?of (?:the )?{_OF} (?:\w+ )?{_LACKS} ?{_ENDS}"),
)
_ALL_TOKENS = re.compile(
    r"\b(?P<name>max_total_sequence_length|max_model_len|max_tokens)['\"]?\s*[:=]\s*(?P<value>\d+)\b"
)
MOST, FULL, FEW = 0.4, 0.75, 2  # of the replies; of the limit; entries
SURE = 8.0
CUT = (
    "{some} of {all} replies are cut at the limit ({limit}) before they end, and a reply that is "
    "cut earns nothing: the reward says mostly who finishes in time, and neither the learning "
    "rate nor the verifier is to blame"
)
MORE_ROOM = (
    "room for the whole reply (8k tokens or more for a model that thinks long), or a model that "
    "thinks less; watch the share of replies that end by themselves, and leave those that are cut "
    "out of the loss"
)


def cut_before_the_end(beside: Beside, log: Log) -> Iterator[Finding]:
    """A count of replies without an end, and lengths that are near a limit that is set."""
    found = next((one for pattern in _COUNTED if (one := beside.first(pattern))), None)
    if found is None:
        return
    line, some, whole = found[0], plain_number(found[1]["some"]), plain_number(found[1]["all"])
    limit, lengths = _limit(beside), [length for _, length in log.series("length")]
    if limit is None or not MOST * whole <= some <= whole:
        return
    if lengths and max(lengths) < FULL * limit.number:
        return
    proof = [line.says, limit.said]
    proof += [f"mean lengths up to {max(lengths):.0f}"] if len(lengths) >= FEW else []
    why = CUT.format(some=found[1]["some"], all=found[1]["all"], limit=f"{limit.value} tokens")
    yield Finding("replies_cut", SURE, line, tuple(proof), why=why, advice=MORE_ROOM)


def _limit(beside: Beside) -> Setting | None:
    """The limit of a reply, or of prompt and reply together."""
    own = beside.number("max_reply_length")
    whole = beside.first(_ALL_TOKENS)
    if own is None and whole:
        line, found = whole
        return Setting("max_reply_length", found["value"], line, written=found["name"])
    return own
