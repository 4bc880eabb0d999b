"""An evaluation whose pattern reads a part of a number: 248 of 1,248."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log

_WHOLE = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,]*\d)")
_JUDGES = re.compile(
    r"\b(?:gold|expected|targets?|answers?|match\w*|pred\w*|extracted|parsed|acc(?:uracy)?|score)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w,.])\d+(?:\.\d+)?(?![\w,]|\.\d)")
_PATTERN = re.compile(
    r"(?:\bre\.\w+\(|compile\(|regex|pattern|\bextract\w*)[^\n]*?(?:\\d|\[0-9\])[+*{]",
    re.IGNORECASE,
)
_TAKES_ALL = re.compile(
    r"\[[^\]]*(?:\\d|0-9)[^\]]*,[^\]]*\]|\[[^\]]*,[^\]]*(?:\\d|0-9)[^\]]*\]|\(\?:,"
)
FEW, WEIGHT = 2, 9.0  # rows that show it
IN_PART = (
    "the evaluation reads a part of the number: {whole} in a reply is taken for {part}, since its "
    "pattern knows digits alone and a comma ends them. So right answers count as wrong, the more "
    "of them the longer the number is, and the score says how numbers are written and not what the "
    "model can do"
)
READ_ALL = (
    "let the pattern take commas within a number, as -?\\d[\\d,]*(?:\\.\\d+)?, strip the commas "
    "in reply and gold answer alike, and score the replies that are there once more, those of the "
    "model before as well; more rows with such numbers do not mend it"
)


def number_read_in_part(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows that show a reply's whole number, the same as the gold answer, and a part of it."""
    if log.kind() == "policy" or beside.matching(_JUDGES) is None:
        return
    found = [(line, *parts) for line in beside.words if (parts := _parts(line.text))]
    if len({whole for _, whole, _ in found}) < FEW:
        return
    patterns = (line for line, _ in beside.all_matching(_PATTERN))
    pattern = next((line for line in patterns if not _TAKES_ALL.search(line.text)), None)
    rows: list[Line] = [line for line, *_ in found[:FEW]]
    shown = [*([pattern] if pattern else []), *rows]
    proof = tuple(line.says for line in shown)
    why = IN_PART.format(whole=found[0][1], part=found[0][2])
    yield Finding("metric_not_as_named", WEIGHT, shown[0], proof, why=why, advice=READ_ALL)


def _parts(text: str) -> tuple[str, str] | None:
    """The whole number of a reply, and the part of it that was taken, beside the gold answer.

    >>> _parts('"...it is $1,248." | 1248 | 248'), _parts('"...it is $1,248." | 1248 | 1248')
    (('1,248', '248'), None)
    """
    for found in _WHOLE.finditer(text):
        whole, rest = found[0], f"{text[: found.start()]} {text[found.end() :]}"
        others = _NUMBER.findall(rest)
        if not any(float(one) == plain_number(whole) for one in others):
            continue
        groups = whole.split(",")
        taken = {float(groups[0]), float(groups[-1])} - {plain_number(whole)}
        part = next((one for one in others if float(one) in taken), None)
        if part is not None:
            return whole, part
    return None
