"""One table for embedding and head in the model, and two in the file; or the other way round."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.scores import fell

_TIED = re.compile(
    r"\btie_(?:word_)?embeddings\b['\"]?\]?\s*(?:[:=]\s*|\s)['\"]?(?P<value>true|false)\b", re.I
)
_ASKS_TIED = re.compile(r"\btie_(?:word_)?embeddings\b['\"]?\]?\)?\s*(?:#.*)?$", re.IGNORECASE)
_ANSWER = re.compile(r"^\W*(?:Out\[\d+\]:\s*)?(?P<value>true|false)\W*$", re.IGNORECASE)
_DRAWN = re.compile(
    r"newly initialized:? ?\[[^\]]*\b(?:lm_head|embed_out|output)\.weight|"
    r"\bmissing(?:_keys| keys)?\b\W{1,6}\[?['\"]?(?:lm_head|embed_out)\.weight",
    re.IGNORECASE,
)
_HEAD_IS_TRAINED = re.compile(
    r"modules_to_save\b['\"]?\s*[:=].*\blm_head\b|additional_target\b.*\blm_head\b"
)
_APART = re.compile(
    r"^(?=.*\blm_head\b)(?=.*\b(?:embed_tokens|wte|get_input_embeddings)\b)"
    r".*(?:torch\.(?:equal|allclose)\(|\.max\(\)|\.norm\(\)|data_ptr)"
)
_HEAD_DIFFERS = re.compile(  # an answer to a comparison of all weights
    r"\(?(?P<before>\d+\.\d+(?:e-?\d+)?)\W+[\w.]*\blm_head\.weight\b|"
    r"\blm_head(?:\.weight)?\b\W+(?:\w+\W+){0,3}?(?P<behind>\d+\.\d+(?:e-?\d+)?)\b"
)
_ASKED = re.compile(r"\babs\(|\bdiff|\ballclose\b|\bequal\b|\bnorm\(", re.IGNORECASE)
_STAYS_TIED = re.compile(r"\bensure_weight_tying\s*=\s*True")
_NOT_ONE = re.compile(r"^\W*(?:Out\[\d+\]:\s*)?(?:False\b|(?:tensor\()?(?!0\.0*\b)\d+\.\d+)")
_SAVED = re.compile(r"\bsave_pretrained\(|\bsave_model\(|\bmerge_and_unload\(|\bexport\b")
_SKIPPED = re.compile(
    r"\b(?:alias(?:es)?|tied|shared)\b.*\blm_head\b|\blm_head\b.*\b(?:alias|tied|skipped)\b", re.I
)
_COUNT = re.compile(
    r"\b(?:num\w* )?param\w*\W{1,3}(?P<n>\d{1,3}(?:,\d{3}){2,}|\d{8,})|^\W*(?P<m>\d{9,})\W*$"
)
_WORSE = re.compile(
    r"\b(?:garbage|gibberish|broken|worse|repeats|gone|lost|nonsense)\b", re.IGNORECASE
)
_LOADED = re.compile(r"\b(?:re-?)?load\w*\b|\bfrom_pretrained\b|\bdisk\b", re.IGNORECASE)
SURE, FOLLOWS, ABOVE = 9.3, 8.2, 6  # weights; lines
NOT_WRITTEN = (
    "the head was not written to the file, since it is one table with the embedding (tied), and "
    "the config beside it says {said}: so that the loader makes a head of its own, drawn at "
    "random. The layers are sound, and what is said with this head is noise"
)
TIE_IT = (
    "tie_word_embeddings true in the config.json that was written (or write lm_head.weight = the "
    "embedding into the file), load again: no weight may be newly initialized; the trained weights "
    "themselves are not lost"
)
TIED_AGAIN = (
    "embedding and head are two tables in the model that was trained{copies}, and the saved config "
    "still says that they are one: at loading both become one table again, without a warning, and "
    "what one of them has learnt is lost"
)
COPIES = " (modules_to_save trains a copy)"
UNTIE = (
    "model.config.tie_word_embeddings = False before save_pretrained (in the saved config.json "
    "too: the file holds both tables), load again, and compare lm_head with that of the model in "
    "memory; no need to train or merge anew"
)


def tie_lost(beside: Beside, log: Log) -> Iterator[Finding]:
    """A head that is not in the file of an untied config, or two tables under a tied one."""
    lines = beside.words
    said = list(_tied(lines))
    drawn = beside.matching(_DRAWN)
    if said and all(value == "false" for _, value in said) and drawn:
        line = said[-1][0]
        skipped = next(
            (one for one in lines if _SKIPPED.search(one.text) and one is not drawn[0]), None
        )
        proof = [_says(one) for one in (skipped, line, drawn[0]) if one] + _counts(lines)
        why = NOT_WRITTEN.format(said=f"tie_word_embeddings false ({line.where})")
        yield Finding("tie_broken", SURE, drawn[0], tuple(proof), why=why, advice=TIE_IT)
    elif said and all(value == "true" for _, value in said):
        yield from _two_tables(lines, said[-1][0], beside, log)


def _two_tables(lines: list[Line], tied: Line, beside: Beside, log: Log) -> Iterator[Finding]:
    """Trained apart, saved, and worse where it is loaded."""
    trained, saved = beside.matching(_HEAD_IS_TRAINED), beside.matching(_SAVED)
    apart = next((two for two in pairwise(lines) if _are_apart(*two)), None)
    if saved is None or not (trained or apart) or beside.matching(_STAYS_TIED):
        return
    differs = _head_differs(lines) if trained and not apart else []
    worse = fell([*lines, *log.entries])
    told = next((x for x in lines if _WORSE.search(x.text) and _LOADED.search(x.text)), None)
    if not (worse or told or differs):
        return
    shown = [*([trained[0]] if trained else []), tied]
    proof = [_says(one) for one in dict.fromkeys(shown)]
    proof += (
        [f"{apart[1].where} says {apart[1].text.strip()[:60]} to {apart[0].text.strip()[:100]}"]
        if apart
        else []
    )
    proof += differs + (worse or ([_says(told)] if told else []))
    weight = SURE if apart or differs else FOLLOWS
    why = TIED_AGAIN.format(copies=COPIES if trained else "")
    yield Finding("tie_broken", weight, tied, tuple(proof), why=why, advice=UNTIE)


def _are_apart(asked: Line, answer: Line) -> bool:
    return bool(_APART.search(asked.text) and _NOT_ONE.match(answer.text))


def _head_differs(lines: list[Line]) -> list[str]:
    """A head that differs once it is loaded, in the answer to a comparison."""
    for number, line in enumerate(lines):
        found = _HEAD_DIFFERS.search(line.text)
        if found is None or not float(found["before"] or found["behind"]):
            continue
        if any(_ASKED.search(one.text) for one in lines[max(0, number - ABOVE) : number + 1]):
            return [f"{line.where} answers: {line.text.strip()[:MAX_QUOTE]}"]
    return []


def _tied(lines: list[Line]) -> Iterator[tuple[Line, str]]:
    """Each value of the setting, on its line or as the answer below it."""
    for number, line in enumerate(lines):
        if found := _TIED.search(line.text):
            yield line, found["value"].lower()
        elif _ASKS_TIED.search(line.text) and lines[number + 1 :]:
            found = _ANSWER.match(lines[number + 1].text)
            yield from [(line, found["value"].lower())] if found else []


def _counts(lines: list[Line]) -> list[str]:
    """Two numbers of parameters in one log: of the model with a second table, and of its base."""
    found = [(line, m["n"] or m["m"]) for line in lines if (m := _COUNT.search(line.text))]
    sizes = {int(plain_number(text)): line for line, text in found}
    if len(sizes) != 2:
        return []
    (low, one), (high, other) = sorted(sizes.items())
    more = f"a table of {high - low:,} more"
    return [f"{high:,} parameters at {other.where}, {low:,} at {one.where}: {more}"]


def _says(line: Line) -> str:
    return line.says
