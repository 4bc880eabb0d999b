"""A divergence that is divided by the size of the vocabulary: kl_div with a plain mean."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line
from course_utils.explain.paste.log import Log

_CALL = re.compile(r"\b(?:F\.|functional\.|nn\.)?(?:kl_div|KLDivLoss)\(")
_REDUCTION = re.compile(r"\breduction\s*=\s*['\"](?P<how>\w+)['\"]")
_MEAN_BEHIND = re.compile(r"\)\s*\.mean\(\s*\)")
_TIMES = re.compile(
    r"\*\s*(?:V\b|\w*vocab\w*|\w+\.(?:size\(\s*-1\s*\)|shape\[-1\])|(?:config|cfg)\.vocab_size)"
)
_OF_WORDS = re.compile(r"logits?\b|\bvocab\w*|\bteacher\w*|\bstudent\w*|\btokens?\b", re.IGNORECASE)
_VOCABULARY = re.compile(
    r"\b(?:torch\.Size\(\[|Size\(\[|shape\W{1,3})(?:\d+, )+(?P<a>\d{5,6})[\])]|"
    r"\b(?:V|vocab(?:ulary)?(?:_size)?)\b\W{1,4}(?:is |of )?(?P<b>\d{5,6})\b|^(?P<c>\d{5,6})$"
)
_VALUE = re.compile(
    r"\b(?P<name>(?:\w+[_/])?(?:(?:kd|kld?|kl_?div\w*)(?:_?loss)?|(?:distill\w*|soft)_?loss))['\"]?"
    r"\s*[=:]\s*(?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b(?!%)",
    re.IGNORECASE,
)
SMALL, LIKELY, MAX_LINES = 1e-3, (0.01, 100.0), 6  # a term; nats; lines of a call
DIVIDED = (
    "the teacher's term is a mean over tokens and words: kl_div with {how} divides by the {size} "
    "of the vocabulary as well, so that it is that many times smaller than the divergence, "
    "whatever its weight, and the rest of the loss decides alone"
)
DEFAULT = "its default, a mean over everything,"
SUM_WORDS = (
    "reduction='batchmean' on rows of (tokens, words), or .sum(-1).mean() of reduction='none'; "
    "then look for weight and temperature anew: so far they have had no effect"
)


def kl_over_the_words(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code of kl_div with a plain mean on logits, and a term that is next to nothing."""
    lines = beside.words
    for number, line in enumerate(lines):
        if not (call := _CALL.search(line.text)):
            continue
        code = _whole(lines[number:], call.start())
        how = _how(code)
        if not how or not _is_of_words(lines, number, code) or _TIMES.search(code):
            continue
        size, value = _vocabulary(lines), _value(lines, log)
        if value is not None and value[2] >= SMALL:
            return
        is_told = size and value and LIKELY[0] < size[1] * value[2] < LIKELY[1]
        proof = [f"{line.where} says: {code[:MAX_QUOTE]}"]
        if value:
            at, name, term = value
            proof.append(f"{at.where}: {name} {term:g}{_times(size, term) if is_told else ''}")
        against = () if value else ("no value of the term is read beside it",)
        weight = 9.0 if is_told else 7.5 if value else 5.6
        why = DIVIDED.format(how=how, size=f"{size[1]} words" if size else "words")
        of = ("divergence_divided", weight, line, tuple(proof), against)
        yield Finding(*of, why=why, advice=SUM_WORDS)
        return


def _times(size: tuple[Line, int], term: float) -> str:
    return (
        f": times the {size[1]} of {size[0].where} that is {size[1] * term:.2g}, what a divergence "
        "of two models is like"
    )


def _whole(lines: list[Line], start: int) -> str:
    """The code of a call that may go on over some lines, and what stands behind it."""
    text, depth = "", 0
    for line in lines[:MAX_LINES]:
        part = line.text[start:] if not text else f" {line.text.strip()}"
        text += part.split("#")[0].rstrip()
        depth = text.count("(") - text.count(")")
        if depth <= 0:
            break
    return text.strip()


def _how(code: str) -> str:
    """How such a call takes a mean over everything; "" if it does not."""
    given = _REDUCTION.search(code)
    if given is None:
        is_known = "." in code.split("(")[0] or "KLDivLoss" in code
        return DEFAULT if is_known and "reduc" not in code and "size_av" not in code else ""
    if given["how"] == "mean":
        return "reduction='mean'"
    is_mean = given["how"] == "none" and _MEAN_BEHIND.search(code)
    return "reduction='none' and .mean()" if is_mean else ""


def _is_of_words(lines: list[Line], number: int, code: str) -> bool:
    near = [code, *(line.text for line in lines[max(0, number - 12) : number])]
    return any(_OF_WORDS.search(text) for text in near)


def _vocabulary(lines: list[Line]) -> tuple[Line, int] | None:
    for line in lines:
        if found := _VOCABULARY.search(line.text.strip()):
            return line, int(next(filter(None, found.groups())))
    return None


def _value(lines: list[Line], log: Log) -> tuple[Line | Entry, str, float] | None:
    """The first value of the teacher's term that is printed."""
    for part in (*log.entries, *lines):
        if found := _VALUE.search(part.text):
            return part, found["name"], float(found["value"])
    return None
