"""A reward for the form that asks each reply for a tag which the prompt has opened already."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_OPENED = re.compile(  # the end of a prompt or of a template: whose turn it is, and a tag
    r"(?:assistant|model|gpt|im_start)\b(?:[^\w<]|\\n|<[^\w/]\w*[^\w]?>){0,12}"
    r"<(?P<tag>[a-z]\w*)>(?:\\n|\s)*(?:['\"]|$)",
    re.IGNORECASE,
)
_ASKED = re.compile(  # code that asks a reply to begin with a tag, and not as one may
    r"\^(?:\\s\*|\\n\*)?<(?P<one>[a-z]\w*)>(?!\)?\?)|"
    r"\bif\b.*\bstartswith\(['\"]<(?P<other>[a-z]\w*)>",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\b(?:sum|len|count\w*|any|mean)\(.*startswith\(['\"]<(?P<tag>[a-z]\w*)>")
_NONE = re.compile(r"^\W*(?:0(?:\.0+)?|False)\W*$")
_PUT_BACK = "(?:f['\"]<{0}>|['\"]<{0}>(?:\\\\n)?['\"]\\s*\\+)"
_NO_WEIGHT = re.compile(
    r"\breward_weights\b[^\]\n]*[\[,\s]0(?:\.0*)?(?=[,\s\]])|"
    r"\bweight(?:s|ed)?\W{1,4}(?:of )?0(?![.\d])",
    re.IGNORECASE,
)
_OF_FORM = re.compile(r"form|tag|think|xml|struct|strict", re.IGNORECASE)
FEW, NEXT_TO_NOTHING = 3, 0.01  # entries; of a reward
OPENED = (
    "the reward for the form cannot be earned: the prompt ends with <{tag}>, so that no reply "
    "begins with it, and the reward asks each reply to begin with <{tag}>. {name} is {value:g} "
    "for all replies, whatever they look like, and teaches nothing"
)
PUT_IT_BACK = (
    "put the tag back in front of a reply before it is scored ('<{tag}>\\n' + reply), make it "
    "optional in the pattern, or take it out of the template; then score replies that are at hand "
    "again, of which those of the right form must be paid"
)


def opened_by_the_prompt(beside: Beside, log: Log) -> Iterator[Finding]:
    """The prompt ends with a tag, code asks replies to begin with it, and none is paid."""
    parts = sorted(
        name for name in log.fields if name.startswith("part:") and _OF_FORM.search(name)
    )
    unpaid = [n for n in parts if max(map(abs, log.values(n))) <= NEXT_TO_NOTHING]
    opened, asked = beside.first(_OPENED), beside.first(_ASKED)
    if not unpaid or opened is None or asked is None or len(log.values(unpaid[0])) < FEW:
        return
    tag = opened[1]["tag"].lower()
    if (asked[1]["one"] or asked[1]["other"]).lower() != tag:
        return
    if beside.matching(_NO_WEIGHT):
        return  # it does not count
    if beside.matching(re.compile(_PUT_BACK.format(tag), re.IGNORECASE)):
        return
    entry, value = log.series(unpaid[0])[0]
    proof = (
        f"{said(entry, unpaid[0])} at {entry.where}, and no more in any entry",
        f"{opened[0].where}, the end of a prompt: {opened[0].text.strip()[-60:]}",
        asked[0].says,
        *_counted(beside, tag),
    )
    why = OPENED.format(tag=tag, name=entry.names[unpaid[0]], value=value)
    advice = PUT_IT_BACK.format(tag=tag)
    yield Finding("constant_part", 9.0, entry, proof, why=why, advice=advice)


def _counted(beside: Beside, tag: str) -> Iterator[str]:
    """That no reply begins with the tag, as somebody has counted."""
    for line, below in pairwise(line for line in beside.words):
        counts = _COUNTS.search(line.text)
        if counts and counts["tag"].lower() == tag and _NONE.match(below.text):
            yield f"{below.where} answers {below.text.strip()} to {line.text.strip()[:MAX_QUOTE]}"
