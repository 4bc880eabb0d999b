"""Rows of the mode that does not think, and a service whose template asks the model to think."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.scores import fell
from course_utils.explain.paste.sentences import is_prose

_OFF = re.compile(
    r"\benable_thinking['\"]?\s*[:=]\s*['\"]?(?:false|0)\b|/no_think\b|\bnothink\b|"
    r"\bthinking['\"]?\s*[:=]\s*['\"]?(?:false|off)\b",
    re.IGNORECASE,
)
_ON = re.compile(r"\benable_thinking['\"]?\s*[:=]\s*['\"]?(?:true|1)\b", re.IGNORECASE)
_EMPTY = re.compile(r"<think>(?:\s|\\n)*</think>")
_REQUEST = re.compile(
    r"chat\.completions\.create\(|/v1/chat/completions|chat_template_kwargs|extra_body|"
    r"\bclient\.chat\b|\bChatOpenAI\(|\bollama\.chat\(",
    re.IGNORECASE,
)
_SERVER = re.compile(
    r"\bvllm serve\b|vllm\.entrypoints|sglang\.launch_server|\bsglang\b|\bllama-server\b|"
    r"text-generation-inference|\btgi\b|\bollama run\b|\blmdeploy serve\b",
    re.IGNORECASE,
)
_PROMPT_END = re.compile(
    r"prompt.*(?:<\|im_start\|>assistant|<[|\uff5c]Assistant[|\uff5c]>)(?:\s|\\n)*['\"]?\W{0,3}$",
    re.I,
)
_THINKS = re.compile(
    r"(?:^|['\":>\s])<think>(?:\s|\\n)*(?!</think>)[^\s<\\'\"]|"
    r"\breasoning_content['\"]?\s*[:=]\s*['\"]\w|"
    r"<think>.{0,40}\b\d+(?:\.\d+)? ?%|\b\d+(?:\.\d+)? ?%.{0,60}<think>|"
    r"['\"]<think>['\"]\s*[,:x]?\s*\(?\d+|"
    r"<think>.{0,40}\b\d+ ?(?:/|of|out of) ?\d+|\b\d+ ?(?:/|of|out of) ?\d+\b.{0,60}<think>|"
    r"\b(?:starts?|begins?|opens?) (?:\w+ )?with ['\"`]?<think>|\bstill (?:thinks|reasons)\b",
    re.IGNORECASE,
)
_AS_A_REPLY = re.compile(r"assistant|messages|['\"]content['\"]", re.IGNORECASE)
NEAR = 8  # lines of a request
SURE, SEEN = 9.1, 8.2
THINKS = (
    "the model was tuned on prompts of the mode that does not think ({off}), and the service asks "
    "it to think: the chat template's own default is on, and the request does not switch it off. "
    "So the prompt ends before the empty thoughts that stood there in every row, and the model "
    "writes thoughts as it did before the tuning; the merge and the weights are sound"
)
BY_ROW, BY_SETTING = "<think></think> is empty in the rows", "enable_thinking is false there"
SWITCH_OFF = (
    "chat_template_kwargs={'enable_thinking': False} in each request (extra_body of the client), "
    "or serve a chat template whose default is off; compare the end of the rendered prompt with "
    "that of a training row; no need to merge or train again"
)


def thinking_switched_on(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows without thoughts, a request that does not say so, and replies that think."""
    lines = beside.words
    asks = [n for n, x in enumerate(lines) if _REQUEST.search(x.text) or _SERVER.search(x.text)]
    is_on = any(_ON.search(x.text) for x in lines if not is_prose(x.text))
    if not asks or is_on or any(_says_off(lines, n) for n in asks):
        return
    row, setting = _empty_row(lines), beside.matching(_OFF)
    thinks = _reply_that_thinks(lines)
    if thinks is None or not (row or setting):
        return
    prompt = next((x for x in lines if _PROMPT_END.search(x.text)), None)
    sent = prompt or lines[asks[0]]
    shown = [x for x in (row, setting and setting[0], sent, thinks) if x]
    proof = dict.fromkeys(one.says for one in shown)
    worse = fell(sorted([*lines, *log.entries], key=place))
    why = THINKS.format(off=BY_SETTING if setting else BY_ROW)
    weight = SURE if prompt or (row and setting) else SEEN
    of = ("template_differs", weight, sent, (*proof, *worse))
    yield Finding(*of, why=why, advice=SWITCH_OFF)


def _says_off(lines: list[Line], number: int) -> bool:
    """Whether a request switches it off, in its line or in those of its call below."""
    text = lines[number].text
    for line in lines[number + 1 : number + NEAR]:
        if text.count("(") + text.count("{") <= text.count(")") + text.count("}"):
            break
        text += f"\n{line.text}"
    return bool(_OFF.search(text) or _EMPTY.search(text))


def _empty_row(lines: list[Line]) -> Line | None:
    """Where empty thoughts stand behind the head of a reply, on one line or on several."""
    for number, line in enumerate(lines):
        if "<think>" not in line.text:
            continue
        around = "\n".join(one.text for one in lines[max(0, number - 2) : number + 4])
        text = "\n".join(one.text for one in lines[number : number + 4])
        if _EMPTY.search(text) and re.search(r"assistant|Assistant|train|row", around):
            return line
    return None


def _reply_that_thinks(lines: list[Line]) -> Line | None:
    for line in lines:
        found = _THINKS.search(line.text)
        if found and not _AS_A_REPLY.search(line.text[: found.start()]):
            return line
    return None
