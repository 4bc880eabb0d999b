"""Replies that were made by a pipeline which gives the prompt back with them."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_PIPELINE = re.compile(r"\bpipeline\(\s*(?:task\s*=\s*)?['\"]text-generation['\"]")
_ALONE = re.compile(
    r"return_full_text|\[len\(|removeprefix\(|\.replace\(|\.split\(|\[['\"]content['\"]\]"
    r".{0,4}\[-1\]|\[-1\]\[['\"]content"
)
_TAKEN = re.compile(r"\[['\"]generated_text['\"]\]")
_ROW = re.compile(r"rejected|chosen|completion|response|output|answer|reply", re.IGNORECASE)
_LENGTHS = re.compile(
    r"\bprompt\b[^|\n]*?(?P<prompt>\d{2,5})\b.*?\brejected\b\D*(?P<reply>\d{2,5})\b", re.IGNORECASE
)
SURE = 8.8
WITH_PROMPT = (
    "the pipeline of text-generation gives the prompt back in front of the reply (return_full_text "
    "is True by default), and what it gives is put into the rows as the {role} reply: each of "
    "them begins with a copy of its prompt. {tells}"
)
TELLS = (
    "In pairs that alone tells the two apart, so that the accuracy is soon 1 and the loss 0, and "
    "nothing is learnt of which answer is better"
)
LEARNS = "So the model learns to say the prompt once more"
REPLY_ALONE = (
    "pipe(..., return_full_text=False), or cut the prompt off; make the rows again, read three of "
    "them decoded, and train again. Beta and the loss are not to blame"
)


def prompt_in_front(beside: Beside, log: Log) -> Iterator[Finding]:
    """A pipeline without `return_full_text=False`, whose text becomes a reply of a row."""
    pipe = beside.matching(_PIPELINE)
    taken = [x for x in beside.words if _TAKEN.search(x.text) and _ROW.search(x.text)]
    if not pipe or not taken or any(_ALONE.search(x.text) for x in (*taken, pipe[0])):
        return
    if beside.matching(re.compile(r"return_full_text")):
        return
    role = _ROW.search(taken[0].text)[0].lower()
    is_pair = role in ("rejected", "chosen")
    told = [pipe[0].says, taken[0].says]
    if lengths := beside.first(_LENGTHS):
        told.append(lengths[0].says)
    why = WITH_PROMPT.format(role=role, tells=TELLS if is_pair else LEARNS)
    yield Finding("prompt_twice", SURE, taken[0], tuple(told), why=why, advice=REPLY_ALONE)
