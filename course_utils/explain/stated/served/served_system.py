"""The system message of a prompt that a service got, beside that of the rows of the training."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.scores import fell

_TURNS = (  # a system message, or the user's turn at the very start, in the form of a family
    re.compile(r"<\|im_start\|>(?:system\n(?P<text>.*?)<\|im_end\|>|(?P<none>user)\b)", re.DOTALL),
    re.compile(
        r"<\|start_header_id\|>(?:system<\|end_header_id\|>\s*(?P<text>.*?)<\|eot_id\|>|"
        r"(?P<none>user)<\|end_header_id\|>)",
        re.DOTALL,
    ),
    re.compile(r"\[INST\]\s*(?:<<SYS>>\s*(?P<text>.*?)\s*<</SYS>>|(?P<none>\w))", re.DOTALL),
)
_OF_SERVICE = re.compile(
    r"Received request|\brequest\b|\bserv(?:ed|er|ing|ice)\b|\bvllm\b|\bsglang\b|\bapi\b|"
    r"\bprod\w*\b|\binference\b|\beval\w*\.py\b|\brendered at\b",
    re.IGNORECASE,
)
_OF_TRAINING = re.compile(
    r"\btrain\w*\b|^\W*(?:inputs|input_ids|text)\s*:|\bdata ?set\b|\bfirst row\b|\bpreprocess\b",
    re.I,
)
_BY_ITSELF = re.compile(r"^(?:Cutting Knowledge Date|Today Date):.*$", re.MULTILINE)
_BUILT_IN = re.compile(r"You are Qwen, created by Alibaba Cloud|You are a helpful assistant\.?$")
MOST, ABOVE, SHORTEST = 14, 2, 12  # lines of a row; lines above it; letters of a message
SURE = 8.9
ANOTHER = (
    "the prompts of the service have another system message than the rows of the training: these "
    'say "{trained}", and the service sends {served}. The model has learnt its manner under that '
    "message, and does not hear it{built_in}"
)
BUILT_IN = ", since the template puts a message of its own where none is given"
SEND_IT = (
    "send the system message of the training first in the messages of each request, print the "
    "rendered prompt and compare it with a row of the training, token by token, and measure "
    "again; no need to train again, and the temperature is not shown to be at fault"
)


@dataclass(frozen=True)
class _System:
    line: Line
    text: str  # "" where there is none


def another_system(beside: Beside, log: Log) -> Iterator[Finding]:
    """A row of the training and a prompt of the service, with system messages that differ."""
    lines = beside.words
    trained, served = (list(_systems(lines, one)) for one in (_OF_TRAINING, _OF_SERVICE))
    trained = [one for one in trained if one.line not in [other.line for other in served]]
    heard = [one for one in trained if len(one.text) >= SHORTEST]
    if not heard or not served or len(heard) < len(trained):
        return
    other = next((one for one in served if not any(_same(one, own) for own in heard)), None)
    if other is None or any(_same(one, own) for one in served for own in heard):
        return
    worse = fell(sorted([*lines, *log.entries], key=place))
    if not worse:
        return
    said = [x.line.says for x in (heard[0], other)]
    sent = f'"{other.text[:80]}"' if other.text else "none"
    built_in = BUILT_IN if _BUILT_IN.search(other.text) else ""
    why = ANOTHER.format(trained=heard[0].text[:80], served=sent, built_in=built_in)
    of = ("template_differs", SURE, other.line, (*said, *worse))
    yield Finding(*of, why=why, advice=SEND_IT)


def _systems(lines: list[Line], whose: re.Pattern) -> Iterator[_System]:
    """What the rendered rows begin with that stand on a line of that kind, or just below it."""
    for number, line in enumerate(lines):
        if "<|" not in line.text and "[INST]" not in line.text:
            continue
        heads = lines[max(0, number - ABOVE) : number + 1]
        is_headed = _marks(line.text, _OF_TRAINING, _OF_SERVICE)
        if not is_headed and any("<|" in one.text or "[INST]" in one.text for one in heads[:-1]):
            continue  # it goes on from the line above
        others = _OF_SERVICE if whose is _OF_TRAINING else _OF_TRAINING
        near = next((one for one in reversed(heads) if _marks(one.text, whose, others)), None)
        if near is None or not whose.search(_outside(near.text)):
            continue
        text = "\n".join(one.text for one in lines[number : number + MOST]).replace("\\n", "\n")
        found = next((m for one in _TURNS if (m := one.search(text))), None)
        if found:
            yield _System(line, _plain(found["text"] or ""))


def _marks(text: str, *kinds: re.Pattern) -> bool:
    return any(one.search(_outside(text)) for one in kinds)


def _outside(text: str) -> str:
    """A line without the prompt that it shows."""
    return re.split(r"<\||\[INST\]|<s>", text)[0]


def _plain(text: str) -> str:
    return " ".join(_BY_ITSELF.sub("", text).split())


def _same(one: _System, other: _System) -> bool:
    """Whether both are one message, as far as they are shown."""
    cut = [re.split(r"\.\.\.|\u2026|\{", x.text)[0].strip() for x in (one, other)]
    if one.text and other.text and min(map(len, cut)) < max(len(one.text), len(other.text)):
        shortest = min(map(len, cut))
        return cut[0][:shortest] == cut[1][:shortest]
    return one.text == other.text
