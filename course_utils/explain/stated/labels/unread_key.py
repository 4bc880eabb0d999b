"""A part of a message under a key that the chat template does not read."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import place
from course_utils.explain.paste.log import Log

_KEY = re.compile(
    r"['\"]role['\"]\s*:\s*['\"]assistant['\"].*?['\"](?P<key>think\w*|thoughts?|reasoning|cot|"
    r"rationale|scratchpad)['\"]\s*:"
)
_EMPTY = re.compile(r"<think>\s*(?:\\n|\s)*</think>")
_OPENS, _CLOSES = re.compile(r"<think>\s*$"), re.compile(r"^\s*</think>")
MOST = 3  # lines from one to the other
SURE = 9.2
UNREAD = (
    "the thoughts are given under the key {key!r}, which the chat template does not read: the "
    "rendered row has an empty <think></think>, so that the model learns to answer at once and "
    "to think nothing"
)
RIGHT_KEY = (
    "give them as the template asks for it (reasoning_content for Qwen3, or <think>...</think> "
    "within the content), print one rendered row, compare the lengths in tokens with those of the "
    "thoughts, and train again"
)


def thoughts_unread(beside: Beside, log: Log) -> Iterator[Finding]:
    """A message with such a key, and a rendered row whose thoughts are empty."""
    key, empty = beside.first(_KEY), beside.matching(_EMPTY)
    lines = sorted(beside.words, key=place)
    for number, line in enumerate(lines):
        below = (low for low in lines[number + 1 : number + 1 + MOST] if low.text.strip())
        if not empty and _OPENS.search(line.text) and _CLOSES.match(next(below, line).text):
            empty = (line, "<think>")
    if key and empty:
        proof = (key[0].says, f"{empty[0].where} shows an empty <think></think>")
        why = UNREAD.format(key=key[1]["key"])
        yield Finding("message_dropped", SURE, key[0], proof, why=why, advice=RIGHT_KEY)
