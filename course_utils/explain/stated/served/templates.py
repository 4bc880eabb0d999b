"""The template of a run beside its model: of which family each is."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE
from course_utils.explain.paste.log import Log

_TEMPLATE = re.compile(
    r"^\W*(?:--)?(?:chat_)?template['\"]?\s*[:=\s]\s*['\"]?([a-z][\w.-]*)", re.IGNORECASE
)
_MODEL = re.compile(
    r"\b(?:model_name_or_path|base_model|model_name|model_id|model|model_dir)['\"]?\s*[:=\s]\s*"
    r"['\"]?([\w./-]+)",
    re.IGNORECASE,
)
_NEW_END = re.compile(r"Replace eos token:?\s*\S+|Add eos token:?\s*\S+", re.IGNORECASE)
_OF_REPLIES = re.compile(
    r"\b(?:repl(?:y|ies)|answers?|repeat\w*|garbage|gibberish|outputs?|stops?|stopping)\b",
    re.IGNORECASE,
)
FAMILIES = {  # of models, and the templates whose turns end with a token of theirs
    "qwen": re.compile(r"qwen|qwq", re.IGNORECASE),
    "llama3": re.compile(r"llama-?_?3", re.IGNORECASE),
    "llama2": re.compile(r"llama-?_?2", re.IGNORECASE),
    "mistral": re.compile(r"mi[sx]tral", re.IGNORECASE),
    "gemma": re.compile(r"gemma", re.IGNORECASE),
    "phi": re.compile(r"\bphi[-_]?\d?", re.IGNORECASE),
    "glm": re.compile(r"glm", re.IGNORECASE),
    "internlm": re.compile(r"internlm", re.IGNORECASE),
    "baichuan": re.compile(r"baichuan", re.IGNORECASE),
    "yi": re.compile(r"\byi[-_]", re.IGNORECASE),
}


def templates(beside: Beside, _log: Log) -> Iterator[Finding]:
    """The template is named after one family of models, and the model after another."""
    if found := _of_another_model(beside):
        yield found


def _of_another_model(beside: Beside) -> Finding | None:
    named = [(line, _TEMPLATE.search(line.text)) for line in beside.words]
    named = [(line, found[1]) for line, found in named if found and _families(found[1])]
    models = [
        (line, found[1])
        for line in beside.words
        for found in _MODEL.finditer(line.text)
        if _families(found[1])
    ]
    if len({name.lower() for _, name in named}) != 1 or not models:
        return None
    (line, template), (where, model) = named[-1], models[0]
    if any(_families(template) & _families(name) for _, name in models):
        return None
    proof = [f"{line.where} says: template {template}", f"{where.where} says: {model}"]
    shown = _quoted(beside, _NEW_END)
    told = next((one for one in beside.told() if _OF_REPLIES.search(one.text)), None)
    if not shown and told is None:
        return None  # a name alone is no fault: a base model may learn any template
    return Finding(
        "template_differs",
        6.0 if shown else 4.5,
        line,
        (*proof, *shown),
        why=f"the template is that of {template}, and the model is {model.rpartition('/')[2]}: its "
        "turns end with a token that this model never learnt, and whatever serves it uses another",
        advice="the template of the model's own family (or the one in its tokenizer), in training "
        "and at serving; train again",
    )


def _families(name: str) -> set[str]:
    return {family for family, words in FAMILIES.items() if words.search(name)}


def _quoted(beside: Beside, pattern: re.Pattern) -> list[str]:
    """The last line that matches."""
    said = beside.all_matching(pattern)
    return [f"{line.where} says: {words[:MAX_QUOTE]}" for line, words in said[-1:]]
