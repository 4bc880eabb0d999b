"""The same weights answer well in one program and badly in another: what lies between decides."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_PROGRAMS = {
    "Ollama": r"ollama",
    "vLLM": r"vllm",
    "llama.cpp": r"llama[-. ]?(?:cpp|server|cli)|gguf",
    "SGLang": r"sglang",
    "TGI": r"\btgi\b|text-generation-inference",
    "LM Studio": r"lm ?studio",
    "Transformers": r"transformers|hugging ?face|\bhf\b|model\.generate|for_inference|peft|pytorch|"
    r"notebook|colab",
}
_GOOD = re.compile(
    r"\b(?:good|fine|perfect(?:ly)?|correct(?:ly)?|normal(?:ly)?|works?|great|well|as expected|"
    r"right)\b|\u6b63\u5e38|\u6b63\u786e",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b(?:garbage|gibberish|nonsense|rubbish|garbled|bad|wrong|worse|poor|broken|confused|"
    r"useless|infinite(?:ly)?|endless(?:ly)?|repeat\w*|never stops?|hallucinat\w*|random|degraded|"
    r"low quality)\b|\u4e71\u7801|\u80e1\u8a00|\u91cd\u590d",
    re.IGNORECASE,
)
_NOT_GOOD = re.compile(r"\b(?:not|n't|never|no|isn.t|doesn.t)\s+(?:\w+\s+)?$", re.IGNORECASE)
_CODE = re.compile(r"[=(){}\[\]]")
_FROM = re.compile(r"^\s*(?:\S+[$#] )?FROM \S+", re.MULTILINE)
_TEMPLATE = re.compile(r"^\s*TEMPLATE\b|\{\{.*\.Prompt|--template", re.IGNORECASE)
_OTHER_MODEL = re.compile(r"\b(?:base|original|stock|untuned)\b", re.IGNORECASE)
_VERSION = r"\b[\w.-]+(?: v?|[=@]{1,2})\d+\.\d[\w.+]*"
_VERSIONS = re.compile(rf"{_VERSION}(?:(?:\s*[,/;|+]\s*|\s+){_VERSION})+", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]{20,}\"|\u201c[^\u201d]{20,}\u201d")
_IMPORT = re.compile(r"convert|import|\bgguf\b|safetensors?|ollama create", re.IGNORECASE)
_RAW = re.compile(
    r"### ?(?:Response|Instruction|Assistant)|<\|im_start\|>|\[INST\]|<start_of_turn>"
)
_APPLIES = re.compile(r"apply_chat_template|/v1/chat/completions|/api/chat\b|\.chat\(")
BETWEEN = (
    "the weights are fine, since they answer well in {good}: in {bad} they get another text (chat "
    "template, start token, end of a turn) or other settings"
)
COMPARE = (
    "compare the token ids of one prompt in both, then write the template of training where {bad} "
    "reads it; no need to train or to convert again"
)
UNTOLD = (
    "a model that was imported answers badly in Ollama: where it recognises no chat template it "
    "hands over the bare prompt, so the model goes on writing instead of answering"
)
NEAR = 12  # lines in which a program stays the one that is spoken of
FOUND, MISSING, FALLS_BACK = 4.6, 4.8, 4.0


def served(beside: Beside, _log: Log) -> Iterator[Finding]:
    """A contrast between two programs, and a Modelfile without a template."""
    lines = beside.words
    spoken = [line for line in lines if _is_said(line.text)]
    good, bad = _judged(lines)
    if bad and (bare := _without_template(lines)):
        proof = (f"{bad[1].where} says: {_short(bad[1])}", f"{bare.where}: {_short(bare)}")
        yield Finding(
            "template_differs",
            MISSING,
            bare,
            (*proof, "no TEMPLATE stands in what was pasted of the Modelfile"),
            ("a GGUF may bring its own template: `ollama show MODEL --template` tells",),
            advice="write the chat template of training into the Modelfile (TEMPLATE, PARAMETER "
            "stop), and create the model again",
        )
    elif bad and bad[0] == "Ollama" and (imported := _imported(spoken)):
        proof = (f"{bad[1].where} says: {_short(bad[1])}", f"{imported.where} speaks of an import")
        against = ("what it fell back to is not in the log: `ollama show MODEL --template` tells",)
        yield Finding("template_differs", FALLS_BACK, bad[1], proof, against, why=UNTOLD)
    if good and bad and good[0] != bad[0]:
        yield _contrast(good, bad, lines)


def _contrast(good: tuple[str, Line], bad: tuple[str, Line], lines: list[Line]) -> Finding:
    names = {"good": good[0], "bad": bad[0]}
    proof = [f"{one[1].where} says: {_short(one[1])}" for one in (good, bad)]
    raw, applied = (next((x for x in lines if p.search(x.text)), None) for p in (_RAW, _APPLIES))
    against = ["the text that each of them gives to the model is not in the log"]
    if raw and applied and raw is not applied:
        proof.append(f"{raw.where} lays the prompt out by hand, {applied.where} by a chat template")
        against = []
    why, advice = BETWEEN.format(**names), COMPARE.format(**names)
    if any("merg" in line.text.lower() for line in lines) and "merg" not in good[1].text.lower():
        against.append("the merge may lie between them too: ask the merged model in Transformers")
    return Finding(
        "template_differs", FOUND, bad[1], tuple(proof), tuple(against), why=why, advice=advice
    )


def _judged(lines: list[Line]) -> tuple[tuple[str, Line] | None, tuple[str, Line] | None]:
    """The program that answers well and the one that does not, each with its line."""
    good = bad = None
    named, since = "", 0
    for line in lines:
        text = _of_its_writer(line.text)
        since = 0 if _last_named(text) else since + 1
        named = name = _last_named(text) or (named if since <= NEAR else "")
        if not _is_said(line.text):
            continue
        if _BAD.search(text) and name:
            bad = bad or (name, line)
        elif name and _is_good(text) and not _OTHER_MODEL.search(text):
            good = (name, line) if good is None and (bad is None or bad[0] != name) else good
    return good, bad


def _of_its_writer(text: str) -> str:
    """A line without what is quoted of a model, and without a list of versions: neither says how
    a program answers.

    >>> _of_its_writer('trl 0.9, vllm 0.5.1, with it: "Great, this is the best answer of all"')
    ', with it: '
    """
    return _VERSIONS.sub("", _QUOTED.sub("", text))


def _is_said(text: str) -> bool:
    """Whether a line is a sentence or a row of words, and no code."""
    return is_prose(text) or "->" in text or not _CODE.search(text)


def _last_named(text: str) -> str:
    """The program named last on a line: a row `GGUF -> ollama` is about Ollama."""
    spots = [
        (max(found.start() for found in hits), name)
        for name, said in _PROGRAMS.items()
        if (hits := list(re.finditer(said, text, re.IGNORECASE)))
    ]
    return max(spots)[1] if spots else ""


def _is_good(text: str) -> bool:
    return any(not _NOT_GOOD.search(text[: found.start()]) for found in _GOOD.finditer(text))


def _imported(lines: list[Line]) -> Line | None:
    """The line that says that a model of one's own was brought in, and no template with it."""
    if any(_TEMPLATE.search(line.text) for line in lines):
        return None
    return next((line for line in lines if _IMPORT.search(line.text)), None)


def _without_template(lines: list[Line]) -> Line | None:
    """The FROM of a Modelfile, if no template is named anywhere."""
    text = "\n".join(line.text for line in lines)
    if "modelfile" not in text.lower() and "ollama" not in text.lower():
        return None
    if any(_TEMPLATE.search(line.text) for line in lines):
        return None
    return next((line for line in lines if _FROM.match(line.text)), None)


def _short(line: Line) -> str:
    return line.text.strip()[:MAX_QUOTE]
