"""Replies of a chat model that run on, to prompts that are plain strings."""

import re
from collections.abc import Iterator
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.columns import rows_of
from course_utils.explain.paste.entries import Line, place, share
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.plain_prompts import plain_prompt

_QUOTED = re.compile(r"(?P<sign>['\"])(?P<text>[^'\"\\]{16,}?)(?:\\n|(?P=sign)|')")
_CUT = re.compile(
    r"(?P<n>\d{2,3}(?:\.\d+)? ?%)\W{1,3}(?:\w+ ){0,4}(?:cut|truncated|clipped|run into|hit)\b|"
    r"\b(?:cut|truncated|clipped|limit)\W{1,3}(?:at |in |of |is |are )*(?P<m>\d{2,3}(?:\.\d+)? ?%)",
    re.IGNORECASE,
)
_BY_CHAT = re.compile(
    r"\bchat[- ](?:format|template|endpoint|api|completions?|mode)\b|/v1/chat\b|\bllm\.chat\b|"
    r"\bpipeline\(",
    re.IGNORECASE,
)
_OF_CUT = re.compile(r"trunc|clip(?:ped)?_ratio$|(?:^|[_/])cut(?:$|[_/])|at_limit|hit_max")
MUCH, NEARLY, AGAIN, FEW = 0.4, 0.8, 2, 3  # of the replies; of the limit; times; entries
KNOWN, SHOWN = 8.4, 7.0
WITHOUT_TEMPLATE = (
    "the prompts reach a chat model as plain strings, without its chat template: it takes bare "
    "text for a text to go on with, as a base model does, so that it writes further questions "
    "(behind an answer or in place of one), and {how}"
)
AS_MESSAGES = (
    'give the prompt as messages ([{"role": "user", "content": ...}]; in OpenRLHF '
    "--apply_chat_template, with an --input_key that holds messages); neither a longer limit nor a "
    "stop string mends that. Then most replies must end by themselves"
)


def goes_on_with_the_prompt(beside: Beside, log: Log) -> Iterator[Finding]:
    """Plain prompts to a chat model, and replies that are cut or write the prompt again."""
    plain = plain_prompt(beside)
    if plain is None:
        return
    cut, again = _cut(beside, log), _again(beside, plain[0])
    if not cut and not again:
        return
    other = beside.matching(_BY_CHAT)
    proof = [*(one.says for one in plain), *cut, *again, *([other[0].says] if other else [])]
    how = "nearly no reply ends" if cut else "the prompt's own words come again in the replies"
    of = ("replies_cut", KNOWN if again or other else SHOWN, plain[0], tuple(dict.fromkeys(proof)))
    yield Finding(*of, why=WITHOUT_TEMPLATE.format(how=how), advice=AS_MESSAGES)


def _cut(beside: Beside, log: Log) -> list[str]:
    """How many of the replies run into the limit, if many do."""
    shares = finite(log.values("truncated_share"))
    shares = shares or _columns(beside, log)
    if len(shares) >= FEW:
        often = median(shares) >= MUCH
        return [f"a share of {median(shares):.3g} of the replies is cut"] if often else []
    limit, lengths = beside.number("max_reply_length"), finite(log.values("length"))
    if limit and len(lengths) >= FEW and median(lengths) >= NEARLY * (limit.number or 0):
        return [f"replies have {median(lengths):.0f} of {limit.value} tokens"]
    told = ((line, _CUT.search(line.text)) for line in beside.words)
    return [line.says for line, found in told if found and share(found["n"] or found["m"]) >= MUCH][
        :1
    ]


def _columns(beside: Beside, log: Log) -> list[float]:
    """The shares of cut replies by any name of a column."""
    found = (row.first(_OF_CUT) for row in rows_of(beside, log))
    return [one[1] for one in found if one and 0 <= one[1] <= 1]


def _again(beside: Beside, plain: Line) -> list[str]:
    """Lines of a reply that hold the words of the prompt's own code again."""
    for quoted in _QUOTED.finditer(plain.text):
        words = quoted["text"].strip().rstrip("'.,:")
        below = [one for one in beside.words if place(one) > place(plain) and words in one.text]
        count = sum(one.text.count(words) for one in below)
        if count >= AGAIN:
            said = f"the prompt's words come {count} times below, as in {below[0].where}"
            return [f"{said}: {words[:60]}"]
    return []
