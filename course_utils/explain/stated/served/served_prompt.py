"""A prompt that a service lays out by hand, beside the rows that were trained on."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, share
from course_utils.explain.paste.log import Log

_FORMS = {  # what begins a turn
    "<|im_start|>": re.compile(r"<\|im_start\|>"),
    "<|start_header_id|>": re.compile(r"<\|start_header_id\|>"),
    "[INST]": re.compile(r"\[INST\]"),
    "<start_of_turn>": re.compile(r"<start_of_turn>"),
    "<|user|>": re.compile(r"<\|(?:user|assistant|system)\|>"),
    "### Instruction": re.compile(r"### ?(?:Instruction|Response|Human|Assistant|User)\b"),
    "Human: / Assistant:": re.compile(
        r"\b(?:Human|User|Question|Q|Input)\s?:.*\b(?:Assistant|Answer|A|Bot|AI|Output)\s?:"
    ),
    "### headings": re.compile(r"### ?[A-Z]\w+:?\s.*### ?[A-Z]\w+:?"),
}
_ASKS = re.compile(r"^\W*(?:<\|\w+\|>|<\w+>)?\W*(?:Human|User|Question)\s?:")
_TRAINED = re.compile(
    r"\btrain\w*[ _-](?:example|row|sample|text|prompt)s?\b|^\W*inputs\s*:|"
    r"\bdecode\(.*input_ids|^\W*(?:\{\s*)?['\"]?text['\"]?\s*:|\brows\s*:|\bone row\b|"
    r"\bds\[|\btrain\w*\[",
    re.IGNORECASE,
)
_BY_HAND = re.compile(r"\bprompt['\"]?\s*[:=]\s*(?:rf?|f)?(?P<quote>['\"])(?P<text>.*?)(?P=quote)")
_RAW = re.compile(
    r"(?<!chat)/completions\b|(?<!chat\.)\bcompletions\.create\(|/generate\b|\bllm\.generate\(|"
    r"\btext_generation\("
)
_BARE = re.compile(r"\bllm\.generate\(\s*\[?\s*(?P<name>\w+)\s*[\],)]")
_TEXT = r"\b{}\s*=\s*\[?\s*(?P<quote>['\"])(?P<text>[^'\"]{{6,}})(?P=quote)"
_LOGGED = re.compile(
    r"(?:Received request|\brequest\b|\bserv\w+|vllm|sglang|tgi|ollama|rendered|sent).*?"
    r"\bprompt['\"]?\s*[:=]\s*(?P<quote>['\"])(?P<text>.*?)(?:(?P=quote)|$)",
    re.IGNORECASE,
)
_PRINTED = re.compile(r"^\W*Prompt\s*:\s*(?P<text>\S.*)$")  # by a program that generates
_RENDERS = re.compile(r"apply_chat_template|chat/completions|chat\.completions")
_SCORE = re.compile(
    r"\b(?P<name>exact[_ ]match|accuracy|acc|em|f1|pass@1|score|win[_ ]?rate|"
    r"bleu(?:-?4)?|rouge-?\w)\b(?: (?:in|from|over|on|through)(?: the)? \w+)?\W{1,4}"
    r"(?P<value>0?\.\d+|1\.0+|\d{1,3}(?:\.\d+)? ?%)",
    re.IGNORECASE,
)
_OF_SERVICE = re.compile(
    r"\b(?:servic\w*|serv(?:ed|ing|er)|endpoint|api|vllm|sglang|tgi|deploy\w*|prod\w*)\b", re.I
)
_OTHER_MODEL = re.compile(r"\b(?:base|original|untuned|before)\b", re.IGNORECASE)
_CUT = re.compile(
    r"finish_reason\b(?: is)?\W{1,5}length\b.{0,30}|"
    r"\b\d+ ?% .{0,30}\b(?:hit|reach|end at)\w* (?:the )?max_tokens",
    re.IGNORECASE,
)
_UNTUNED = re.compile(
    r"\blike the (?:base|original|stock|plain|untuned)\b|"
    r"\b(?:never|nobody|not|n't)(?: (?:been|ever))*(?: at all)? (?:(?:fine-?)?tuned|trained)\b",
    re.IGNORECASE,
)
_CHAT = re.compile(r"/chat/completions\b.*|\bchat\.completions\.create\(.*")
_OWN_TEMPLATE = re.compile(r"--chat[-_]template\b|\bchat_template\s*=|^TEMPLATE\b|alpaca\.jinja")
PLAIN = (
    "### Instruction",
    "Human: / Assistant:",
    "### headings",
)  # no chat template of a model writes these
FOLLOWS = 6.6
AS_LEARNT = (
    "send the text of the training to /v1/completions as it was laid out there, or give the server "
    "a chat template that writes it (--chat-template); the weights need no further training"
)
NEAR, TURNS, LOWER, SURE = 8, 5, 0.85, 8.8  # lines around; of a row; of the better score
ANOTHER = (
    "the service asks in another form than the rows of the training have: these mark their turns "
    "with {trained}, and the prompt of the service is {served}. So the model does not see the "
    "start of its turn as it learnt it"
)
RENDER = (
    "let the service render the messages with the tokenizer's own chat template, the system "
    "message of the training included (/v1/chat/completions, or apply_chat_template with "
    "add_generation_prompt=True), and stop at the end of its turn; no need to train or merge again"
)


def another_prompt(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows of one form, a prompt of another, and replies that are worse or run on."""
    lines = beside.words
    trained, served = _trained(lines), _served(lines)
    if trained and served is None and trained[1] in PLAIN:
        yield from _rendered_by_the_server(trained, beside, log)
    if trained is None or served is None or served[1] == trained[1]:
        return
    if _FORMS[trained[1]].search(served[0].text):
        return
    worse = _worse([*lines, *log.entries])
    effect = [*worse, *_cut(beside), *_as_untuned(beside)]
    text = served[0].text
    if not effect and not _LOGGED.search(text) and not _PRINTED.match(text):
        return
    proof = [one.says for one, _ in (trained, served)]
    shown = f"laid out as {served[1]}" if served[1] else "bare text"
    why = ANOTHER.format(trained=trained[1], served=shown)
    why += "; the weights score well elsewhere and are not to blame" if worse else ""
    of = ("template_differs", SURE if effect else FOLLOWS, served[0], (*proof, *effect))
    yield Finding(*of, why=why, advice=AS_LEARNT if trained[1] in PLAIN else RENDER)


def _rendered_by_the_server(
    trained: tuple[Line, str], beside: Beside, log: Log
) -> Iterator[Finding]:
    """Rows in a form of plain words, and messages that a server lays out by a chat template."""
    chat, template = beside.matching(_CHAT), beside.matching(_OWN_TEMPLATE)
    worse = _worse([*(line for line in beside.words), *log.entries])
    effect = [*worse, *_cut(beside)]
    if chat is None or template is not None or not effect:
        return
    shown = (trained[0], chat[0])
    proof = [one.says for one in shown]
    why = ANOTHER.format(trained=trained[1], served="made by the chat template of its tokenizer")
    untold = "which template that is: print the prompt that the server renders"
    of = ("template_differs", FOLLOWS, chat[0], (*proof, *effect))
    yield Finding(*of, why=why, advice=AS_LEARNT, untold=untold)


def _form(text: str) -> str:
    r"""
    >>> _form(r"Human: {q}\nAssistant:"), _form("[INST] {q} [/INST]"), _form("{q}")
    ('Human: / Assistant:', '[INST]', '')
    """
    text = text.replace("\\n", " ")
    return next((name for name, pattern in _FORMS.items() if pattern.search(text)), "")


def _trained(lines: list[Line]) -> tuple[Line, str] | None:
    """A row that is said to be one of the training, with the marks of a turn."""
    for number, line in enumerate(lines):
        if not _TRAINED.search(line.text) or _RAW.search(line.text):
            continue
        around = lines[number : number + NEAR]
        for at, near in enumerate(around):
            turns = " ".join(one.text for one in around[at : at + TURNS])  # each on its line
            form = _form(near.text) or (_form(turns) if _ASKS.match(near.text) else "")
            if form and not _BY_HAND.search(near.text):
                return near, form
    return None


def _served(lines: list[Line]) -> tuple[Line, str] | None:
    """A prompt that a server has got, or one written out in code, near a call that hands it over
    as it is."""
    for line in lines:
        got = _LOGGED.search(line.text) or _PRINTED.match(line.text)
        if got and (form := _form(got["text"])):
            return line, form
    for number, line in enumerate(lines):
        found = _BY_HAND.search(line.text)
        if not found or "{" not in found["text"]:
            continue
        around = lines[max(0, number - NEAR) : number + NEAR]
        if any(_RENDERS.search(one.text) for one in around):
            continue
        if any(_RAW.search(one.text) for one in around):
            return line, _form(found["text"])
    return _given_bare(lines)


def _given_bare(lines: list[Line]) -> tuple[Line, str] | None:
    """A question that is handed over as it is: `q = "..."`, `llm.generate([q], ...)`."""
    call = next(((line, found) for line in lines if (found := _BARE.search(line.text))), None)
    if call is None or any(_RENDERS.search(line.text) for line in lines):
        return None
    text = re.compile(_TEXT.format(re.escape(call[1]["name"])))
    for line in lines:
        if (found := text.search(line.text)) and "<|" not in found["text"]:
            return line, _form(found["text"])
    return None


def _worse(lines: list[Line | Entry]) -> list[str]:
    """A score of the service that is far below another one of the same name."""
    found = [(line, m) for line in lines for m in _SCORE.finditer(line.text)]
    bad = [(line, m) for line, m in found if _OF_SERVICE.search(line.text)]
    bad = [(line, m) for line, m in bad if not _OTHER_MODEL.search(line.text)]
    for line, low in bad:
        for other, high in found:
            is_same = low["name"].lower() == high["name"].lower() and other is not line
            if is_same and share(low["value"]) < LOWER * share(high["value"]):
                return [f"{high[0]} at {other.where}, {low[0]} through the service at {line.where}"]
    return []


def _as_untuned(beside: Beside) -> list[str]:
    told = next((one for one in beside.told() if _UNTUNED.search(one.text)), None)
    return [told.says] if told else []


def _cut(beside: Beside) -> list[str]:
    found = beside.matching(_CUT)
    return [f"{found[0].where} says: {found[1].strip()}"] if found else []
