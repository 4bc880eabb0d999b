"""Prompts that are rendered without the head of the reply's turn, and a model that writes it."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.asked import asked

_OPENED = re.compile(
    r"\badd_generation_prompt['\"]?\s*[:=]\s*['\"]?true|\bcontinue_final_message\b", re.I
)
_CLOSED = re.compile(r"\badd_generation_prompt['\"]?\s*[:=]\s*['\"]?false\b", re.IGNORECASE)
_GENERATES = re.compile(r"\.generate\(")
_HEAD = re.compile(
    r"^\W{0,4}(?:\[?\d+\]?\W{1,3})?"
    r"(?:(?:reply|replies|out\w*|pred\w*|got|answer|completion|generated|sample)\b[^'\"<\w]{1,6}['\"]?|['\"])"
    r"(?:<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|)?"
    r"(?:assistant|model)(?:<\|end_header_id\|>|\|>)?(?:\\n|\s*$)"
)
_NO_HEAD = re.compile(r"mi[sx]tral|llama-?2|\[INST\]", re.IGNORECASE)  # of a reply, in the template
SURE, SAID, ALONE = 8.9, 7.4, 6.0
NOT_OPENED = (
    "the prompts end with the user's turn: they are rendered without add_generation_prompt, so "
    "that the head of the assistant's turn, which stood before every reply in the training, is "
    "missing. The model has to write it first, where it does not go on with another turn"
)
OPEN_IT = (
    "apply_chat_template(..., add_generation_prompt=True) wherever prompts are made for "
    "generation, and measure again; the model need not be trained again"
)


def turn_not_opened(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code or a setting that leaves the head out, and replies that begin with one."""
    generates = beside.matching(_GENERATES)
    if generates is None or beside.matching(_OPENED):
        return
    said_so = beside.matching(_CLOSED)
    line = said_so[0] if said_so else _rendered(beside)
    heads = [one for one in beside.words if _HEAD.match(one.text)]
    if not heads and not beside.matching(_NO_HEAD):
        yield from _asked_so(beside)
    if line is None or not heads:
        return
    shown = [line, *heads[:2]]
    proof = tuple(one.says for one in shown)
    weight = SURE if said_so or len(heads) > 1 else SAID
    yield Finding("template_differs", weight, line, proof, why=NOT_OPENED, advice=OPEN_IT)


def _asked_so(beside: Beside) -> Iterator[Finding]:
    """Chats that end with a user's turn, rendered without the head, and handed to generate."""
    for one in asked(beside):
        for line, call in one.calls():
            names = {key.arg for key in call.keywords}
            is_render = name_of(call.func) == "apply_chat_template" and None not in names
            if is_render and not re.search(r"assistant|prefill|conversation", one.text):
                proof = tuple(dict.fromkeys((line.says, one.line.says)))
                of = ("template_differs", ALONE, line, proof)
                yield Finding(*of, why=NOT_OPENED, advice=OPEN_IT)
                return


def _rendered(beside: Beside) -> Line | None:
    """A call of the template that does not ask for the head, and whose messages are no rows."""
    for line, statement in statements(beside):
        for call in calls(statement):
            names = {one.arg for one in call.keywords}
            is_row = any("row" in name_of(x) or name_of(x) == "ex" for x in ast.walk(call))
            if name_of(call.func) == "apply_chat_template" and not is_row and None not in names:
                return line
    return None
