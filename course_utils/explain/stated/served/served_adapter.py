"""An adapter of a text class that is served by a class of text and images, without effect."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE
from course_utils.explain.paste.log import Log

_SERVED = re.compile(r"(?:[Rr]esolved )?[Aa]rchitectures?\W{1,5}(\w+ForConditionalGeneration)")
_BARE_KEY = re.compile(r"\b(?:base_model\.model\.)?model\.layers\.\d+\.[\w.]*lora_[ABab]\b[\w.]*")
_TEXT_CLASS = re.compile(r"AutoModelForCausalLM|\w+ForCausalLM\b")
_WITH_PREFIX = re.compile(r"language_model[\w.]*lora_")
_LOADED = re.compile(r"Loaded new LoRA adapter|--lora-modules|--enable-lora|load_lora_adapter")
_NO_EFFECT = re.compile(
    r"(?:answers?|outputs?|repl(?:y|ies)|same|identical)\b[^.\n]{0,50}\bbase(?: model)?\b"
    r"[^.\n]{0,40}|"
    r"\bno effect\b|\b(?:lora|adapter)\b[^.\n]{0,40}\b(?:ignored|not applied|does nothing)\b",
    re.IGNORECASE,
)
_WORKS = re.compile(
    r"[^.;\n]{0,40}\bpeft(?:model)?\b[^.;\n]{0,40}\b(?:works?|fine|correct\w*)\b", re.IGNORECASE
)
NO_KEY_MATCHES = (
    "the adapter is loaded and applied to no module: it was trained on the text class, where the "
    "layers are called model.layers..., and the server runs {}, where they stand under the "
    "language model (language_model.model.layers...); no name matches, and none is reported"
)
RENAME = (
    "print the names of the served modules, and give the adapter's keys that prefix; or train on "
    "the class that is served; or merge the adapter and serve the merged model; a higher rank or "
    "more epochs change nothing"
)
WEIGHT = 8.0


def without_effect(beside: Beside, _log: Log) -> Iterator[Finding]:
    """The served class has images, the adapter's names are those of text, and nothing changes."""
    served, loaded, effect = (beside.matching(one) for one in (_SERVED, _LOADED, _NO_EFFECT))
    named = beside.matching(_BARE_KEY) or beside.matching(_TEXT_CLASS)
    if not all((served, loaded, effect, named)) or beside.matching(_WITH_PREFIX):
        return
    works = beside.matching(_WORKS)
    rows = [named, served, effect, *([works] if works else [])]
    yield Finding(
        "adapter_not_loaded",
        WEIGHT,
        served[0],
        tuple(f"{line.where} says: {words.strip()[:MAX_QUOTE]}" for line, words in rows),
        why=NO_KEY_MATCHES.format(_SERVED.search(served[1])[1]),
        advice=RENAME,
    )
