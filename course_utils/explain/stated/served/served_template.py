"""A template that a server is told to use, beside that of the training."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

FORMS = {  # the names of templates, by what begins a turn
    "<|im_start|>": re.compile(r"chat[-_]?ml|qwen|hermes|im_start|\byi\b|smollm|dolphin", re.I),
    "<|start_header_id|>": re.compile(r"llama[-_]?(?:v)?3|start_header", re.I),
    "[INST]": re.compile(r"llama[-_]?2|mi[sx]tral|\[INST\]", re.I),
    "<start_of_turn>": re.compile(r"gemma|start_of_turn", re.I),
    "### Instruction": re.compile(r"alpaca|### ?Instruction", re.I),
    "USER: / ASSISTANT:": re.compile(r"vicuna", re.I),
    "<|user|>": re.compile(r"zephyr|tulu|<\|user\|>", re.I),
}
_OF_SERVER = re.compile(
    r"--(?:chat-template(?:-file)?|conv(?:ersation)?-template)['\"]?[\s,=:]+['\"]?(?P<name>[^\s'\",]+)"
    r"|^\W*chatTemplate\W+(?P<value>[\w./-]+)|^TEMPLATE\b(?P<text>.*)",
    re.MULTILINE,
)
_OF_TRAINING = re.compile(
    r"(?<![-\w])(?:--)?(?:chat_template|template|prompt_template|conversation|template_name)['\"]?"
    r"\s*[:=\s]\s*['\"]?(?P<name>[A-Za-z][\w.-]*)['\"]?",
    re.IGNORECASE,
)
_ALPACA = re.compile(r"^\W*### ?(?:Instruction|Response|Input)\b:?\s*(?:\\n|\{.*\}|$)", re.I)
_FILLS_IN = re.compile(r"\bdef \w*format\w*\(|\bformatting_func\b|\.format\(.*\beos", re.I)
_LABELLED = re.compile(r"\(-100, ?\d+\)|\blabels?\b.*<\||\btrain\w*\b.*(?:<\||\[INST\])", re.I)
_GOT = re.compile(r"Received request|prompt_token_ids|rendered prompt|\bprompt: ['\"]", re.I)
_CUT = re.compile(r"reason['\"]?\W{1,4}length\b", re.IGNORECASE)
_RUNS_ON = re.compile(
    r"\b(?:rambl\w+|never stops?|(?:does|do|did)(?: not|n't) stop|keeps? going|runs? on|gibberish|"
    r"nonsense|weird|worse|rubbish|garbage|terrible|forgets|like the base|base[- ]model)\b",
    re.IGNORECASE,
)
_STOPS = re.compile(r"\b(?:stop|finish_reason|reason)\W{1,3}(?:eos|stop|im_end)\b", re.IGNORECASE)
SURE = 8.9
OTHER = (
    "the server lays prompts out in another template than the training: {trained} marks a turn of "
    "the rows, and the server is told to use {served}. The model has not been tuned on that frame, "
    "so it answers as the base does and does not write the end that it learnt"
)
DROP = (
    "serve with the template of the training (the one saved with the tokenizer: leave the "
    "server's own template option out, and choose a parser of tools that fits it), or train again "
    "with the server's template; fewer epochs or another rate do not mend it"
)

IN_MODELFILE = (
    "write the frame of the training into TEMPLATE of the Modelfile, word for word, and the end of "
    "its rows as PARAMETER stop; no other export and no new training is needed"
)


def another_template(beside: Beside, log: Log) -> Iterator[Finding]:
    """The option of a server names one form of turns, and the training another."""
    lines = beside.words
    served, trained = _served(lines), _trained(lines)
    if served is None or trained is None or served[1] == trained[1]:
        return
    told = (one for words in (_CUT, _RUNS_ON) for one in lines if words.search(one.text))
    effect = next(told, None)
    if effect is None:
        return
    fine = next((one for one in (*lines, *log.entries) if _STOPS.search(one.text)), None)
    got = next((one for one in lines if _GOT.search(one.text)), None)
    shown = [trained[0], served[0], *(one for one in (got, effect, fine) if one is not None)]
    proof = tuple(one.says for one in _once(shown))
    why = OTHER.format(trained=trained[1], served=f"that of {served[1]}")
    advice = IN_MODELFILE if served[0].text.startswith("TEMPLATE") else DROP
    yield Finding("template_differs", SURE, served[0], proof, why=why, advice=advice)


def _once(lines: list) -> list:
    return list({one.where: one for one in lines}.values())


def form_of(name: str) -> str:
    """
    >>> form_of("tool_chat_template_llama3.1_json.jinja"), form_of("ours.jinja")
    ('<|start_header_id|>', '')
    """
    found = [form for form, words in FORMS.items() if words.search(name)]
    return found[0] if len(found) == 1 else ""


def _served(lines: list[Line]) -> tuple[Line, str] | None:
    for line in lines:
        if is_prose(line.text) or not (found := _OF_SERVER.search(line.text)):
            continue
        name = found["name"] or found["value"] or found["text"] or ""
        if form := form_of(name.rpartition("/")[2] or name):
            return line, form
    return None


def _trained(lines: list[Line]) -> tuple[Line, str] | None:
    """The one form that settings and rows of the training have; None if there are two."""
    found = [(line, "### Instruction") for line in lines if _ALPACA.match(line.text)][:1]
    found = found if any(_FILLS_IN.search(line.text) for line in lines) else []
    for line in lines:
        if _OF_SERVER.search(line.text) or is_prose(line.text):
            continue
        names = [m["name"] for m in _OF_TRAINING.finditer(line.text)]
        names += [line.text] if _LABELLED.search(line.text) else []
        found += [(line, form) for name in names if (form := form_of(name))]
    return found[0] if len({form for _, form in found}) == 1 else None
