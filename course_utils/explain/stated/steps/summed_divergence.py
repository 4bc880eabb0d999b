"""A divergence that is summed over the positions of a row: kl_div's batchmean on three axes."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.stated.steps.divided_divergence import (
    CALL,
    REDUCTION,
    is_of_words,
    whole,
)

_FLAT = re.compile(
    r"\b(?:view|reshape)\(\s*-1\s*,|\bflatten\(|\brearrange\(|\bmasked_select\(|"
    r"\[(?:\w*mask\w*|m|keep|valid\w*|idx|active\w*|\w*labels?\w* ?!= ?[-\w]+|"
    r"[^\]\n]*!= ?-100[^\]\n]*)\]"
)
_PER_TOKEN = re.compile(
    r"/ ?\(?\s*(?:\w*mask\w*\.|\w*tok\w*|\w*seq\w*|(?:\w+\.)?(?:size\(\s*1\s*\)|shape\[1\])|"
    r"L\b|T_len|"
    r"(?:num|n)_(?:tok|valid|label|items))"
)
_THREE_AXES = re.compile(
    r"[\[(]\s*(?:B|b|bs|bsz|N|batch\w*)\s*,\s*(?:L|T|S|seq\w*|len\w*|time|tokens?)\s*,\s*"
    r"(?:V|C|vocab\w*|words)\s*[\])]|\b(?:Size\(\[|shape\W{1,3}\(?)\d+, \d+, \d{4,6}[\])]"
)
_KD = re.compile(
    r"(?<![\w/])(?P<name>(?:\w+[_/])?(?:kd|kld|kl|kl_?div\w*|distil\w*|soft)(?:[_ ]?(?:loss|"
    r"term))?)['\"]?"
    r"(?:\s*[=:]\s*|\s+(?:is |was |of |"
    r"at )?)~?(?P<value>\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)\b(?! ?%)",
    re.IGNORECASE,
)
_CE = re.compile(
    r"(?<![\w/])(?P<name>(?:\w+[_/])?(?:ce|xent|nll|hard|lm|sft|task|cross[_-]?entropy)"
    r"(?:[_ ]?(?:loss|term))?)['\"]?"
    r"(?:\s*[=:]\s*|\s+(?:is |was |of |at )?)~?(?P<value>\d[\d,]*(?:\.\d+)?)\b(?! ?%)",
    re.IGNORECASE,
)
_GROWS_WITH_LENGTH = re.compile(
    r"\b(?:twice|doubles?|2x|x2)\b.{0,60}\b(?:seq\w*|len\w*|context|tokens)\b|"
    r"\b(?:seq\w*|len\w*|context|tokens)\b.{0,60}\b(?:twice|doubles?|2x|x2)\b",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"\b(?:seq(?:_?len\w*|uence_len\w*)?|max_len\w*|block_size)\b\W{1,4}(?P<n>\d{3,5})\b"
)
LARGE, BESIDE_CE, ALONE, LIKELY, BEFORE = 20.0, 20.0, 200.0, (0.01, 12.0), 15
SUMMED = (
    "the teacher's term is summed over the positions of a row: kl_div with {how} divides by the "
    "first axis alone, and the logits have three (rows, positions, words), so that it is as many "
    "times too large as a row has tokens{each}. Beside it the cross-entropy, a mean per token, "
    "counts for nothing, the gradient is clipped in each step, and neither its weight nor the rate "
    "mends that"
)
FLATTEN = (
    "flatten before the call, and leave out what has no label: m = labels.view(-1) != -100; "
    "F.kl_div(s.view(-1, V)[m], t.view(-1, V)[m], reduction='batchmean') * T * T, a mean per token "
    "as the cross-entropy is; then choose weight and rate anew"
)


def kl_over_the_positions(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code of kl_div with batchmean on whole batches, and a term that is far too large."""
    lines = beside.words
    for number, line in enumerate(lines):
        if not (call := CALL.search(line.text)):
            continue
        code = whole(lines[number:], call.start())
        how = REDUCTION.search(code)
        if (
            not how
            or how["how"] not in ("batchmean", "sum")
            or not is_of_words(lines, number, code)
        ):
            continue
        around = [one.text for one in lines[max(0, number - BEFORE) : number + 1]]
        if any(map(_FLAT.search, (*around, code))) or any(map(_PER_TOKEN.search, (*around, code))):
            continue
        if not (large := _far_too_large(lines, log)):
            continue
        yield _finding(beside, line, code, how["how"], large)
        return


def _finding(
    beside: Beside, line: Line, code: str, how: str, large: tuple[Line | Entry, float, str]
) -> Finding:
    part, term, said = large
    axes, grows = beside.first(_THREE_AXES), beside.first(_GROWS_WITH_LENGTH)
    proof = [f"{line.where} says: {code[:MAX_QUOTE]}"]
    proof += [f"{axes[0].where}: the logits have three axes, {axes[1][0]}"] if axes else []
    proof.append(f"{part.where}: {said}")
    proof += [f"{grows[0].where} says: {grows[1][0]}"] if grows else []
    length = _length(beside)
    each = term / length if length else 0.0
    told = f" ({term:g} / {length:g} = {each:.2g} a token)" if length else ""
    is_told = LIKELY[0] < each < LIKELY[1]
    why = SUMMED.format(how=f"reduction='{how}'", each=told if is_told else "")
    weight = 9.0 if axes or grows else 8.0
    return Finding("divergence_summed", weight, line, tuple(proof), why=why, advice=FLATTEN)


def _length(beside: Beside) -> float:
    """The length of a row, as a program or a file has it; 0 where none does."""
    lines = (line.text for line in beside.words if not is_prose(line.text))
    return next((float(m["n"]) for text in lines if (m := _LENGTH.search(text))), 0.0)


def _far_too_large(lines: list[Line], log: Log) -> tuple[Line | Entry, float, str] | None:
    """The first value of the teacher's term that is far above the cross-entropy beside it."""
    for part in (*log.entries, *lines):
        for found in _KD.finditer(part.text):
            term, other = plain_number(found["value"]), _CE.search(part.text)
            least = BESIDE_CE * plain_number(other["value"]) if other else ALONE
            if term >= max(LARGE, least):
                said = f"{found['name']} {term:g}"
                return (
                    part,
                    term,
                    f"{said} beside {other['name']} {other['value']}" if other else said,
                )
    return None
