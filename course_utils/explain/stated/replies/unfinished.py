"""How many replies have no end of their thoughts or no answer, as somebody has counted, and the
limit that cuts them."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import plain_number
from course_utils.explain.paste.log import Log, finite

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
SURE, LIKELY = 8.0, 7.4
NEAR, SHORT, POOR = 0.9, 2048, 0.2  # of the room for a reply; tokens; of a reward
OF_BOTH = ("max_total_sequence_length", "max_model_len")  # of prompt and reply together
_THINKS = re.compile(
    r"[\w./-]*(?:R1-(?:0528-)?(?:Distill|Qwen|Zero)|DeepSeek-R1|QwQ|-Thinking)[\w.-]*",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"\bprompts?\b[^.\n]{0,60}?(?:~|about |around )?(?P<n>\d{2,4}) tokens", re.I)
CUT = (
    "{some} of {all} replies are cut at the limit ({limit}) before they end, and a reply that is "
    "cut earns nothing: the reward says mostly who finishes in time, and neither the learning "
    "rate nor the verifier is to blame"
)
TOO_SHORT = (
    "the replies are cut before they end: this model thinks for thousands of tokens, and the limit "
    "leaves it a few hundred, which it fills from the first step on. A reply that is cut has no "
    "answer and earns nothing; the verifier and the rate are not shown to be at fault"
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
        yield from _thinks_too_long(beside, log)
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


def _thinks_too_long(beside: Beside, log: Log) -> Iterator[Finding]:
    """A model that thinks for thousands of tokens, a small limit, mean lengths that are near it
    from the start, and a reward of next to nothing."""
    model, limit = beside.matching(_THINKS), _limit(beside)
    lengths, rewards = finite(log.values("length")), finite(log.values("reward"))
    if model is None or limit is None or not 0 < (limit.number or 0) <= SHORT:
        return
    if len(lengths) < FEW or not rewards or max(rewards) > POOR:
        return
    room = limit.number
    if limit.written in OF_BOTH:
        told = _PROMPT.search(" ".join(line.text for line in beside.words))
        room -= int(told["n"]) if told else 0
    if min(lengths) < NEAR * room:
        return
    proof = (
        f"{model[0].where} says: {model[1].strip()}",
        limit.said,
        f"mean lengths of {min(lengths):.0f} to {max(lengths):.0f}, and rewards up to "
        f"{max(rewards):.3g}",
    )
    yield Finding("replies_cut", LIKELY, limit.line, proof, why=TOO_SHORT, advice=MORE_ROOM)


def _limit(beside: Beside) -> Setting | None:
    """The limit of a reply, or of prompt and reply together."""
    own = beside.number("max_reply_length")
    whole = beside.first(_ALL_TOKENS)
    if own is None and whole:
        line, found = whole
        return Setting("max_reply_length", found["value"], line, written=found["name"])
    return own
