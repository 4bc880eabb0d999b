"""A head that was trained apart from the embedding, and is tied to it again when it is loaded."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log

_TRAINED_APART = re.compile(
    r"\b(?:modules_to_save|lora_modules_to_save|additional_target)['\"]?\s*[:=].*\blm_head\b[^\]\n]{0,60}\]?"
)
_TIED = re.compile(r"\btie_word_embeddings['\"]?\s*[:=]\s*['\"]?true\b", re.IGNORECASE)
_UNTIED = re.compile(
    r"\btie_word_embeddings['\"]?\s*[:=]\s*['\"]?false\b|\bensure_weight_tying\s*=\s*True",
    re.IGNORECASE,
)
_SAVED = re.compile(r"\bsave_pretrained\(|\bmerge_and_unload\(|\bmerged\b", re.IGNORECASE)
_WORSE = re.compile(
    r"\b(?:garbage|gibberish|gone|nonsense|much worse|broken|lost)\b", re.IGNORECASE
)
_DIFFERS = re.compile(
    r"\(?(?P<before>\d+\.\d+(?:e-?\d+)?)\W+[\w.]*\blm_head\.weight\b|"
    r"\blm_head(?:\.weight)?\b\W+(?:\w+\W+){0,3}?(?P<behind>\d+\.\d+(?:e-?\d+)?)\b"
)
_ASKED = re.compile(r"\babs\(|\bdiff|\ballclose\b|\bequal\b|\bnorm\(", re.IGNORECASE)
SHOWN, SAID, NEAR = 9.4, 7.0, 6
TIED_AGAIN = (
    "the trained head is lost at loading: embedding and head were trained as two matrices "
    "({apart}) and differ since, while the saved config still has tie_word_embeddings true. So "
    "from_pretrained puts the embedding in the head's place, without a warning, and what the file "
    "holds of the head is not used"
)
UNTIE = (
    "set the model's config.tie_word_embeddings to False before save_pretrained (or in the "
    "config.json of the saved folder, where the file has the head as well); or keep one matrix "
    "in training (the embedding alone, or PEFT's option that keeps the two tied)"
)


def tied_when_loaded(beside: Beside, log: Log) -> Iterator[Finding]:
    """modules_to_save with the head, a config that ties it, and a head that differs once loaded."""
    apart, tied = beside.matching(_TRAINED_APART), beside.matching(_TIED)
    saved = beside.matching(_SAVED)
    if apart is None or tied is None or saved is None or beside.matching(_UNTIED):
        return
    lines = [line for _, line in beside.lines]
    shown, worse = _differs(lines), beside.matching(_WORSE)
    if not shown and worse is None:
        return
    words = [f"{one[0].where} says: {one[1].strip()[:MAX_QUOTE]}" for one in (apart, tied)]
    why = TIED_AGAIN.format(apart=apart[1].strip()[:80].rstrip(", "))
    weight = SHOWN if shown else SAID
    yield Finding("tie_broken", weight, tied[0], (*words, *shown), why=why, advice=UNTIE)


def _differs(lines: list[Line]) -> list[str]:
    """A head that differs, in the answer to a comparison."""
    for number, line in enumerate(lines):
        found = _DIFFERS.search(line.text)
        if found is None or not float(found["before"] or found["behind"]):
            continue
        if any(_ASKED.search(one.text) for one in lines[max(0, number - NEAR) : number + 1]):
            return [f"{line.where} answers: {line.text.strip()[:MAX_QUOTE]}"]
    return []
