"""The types of a prepared data set's columns: labels in one that cannot hold what masks them."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, plain_number
from course_utils.explain.paste.log import Log, finite

_COLUMN = re.compile(
    r"['\"]labels['\"]\s*:\s*(?:(?:Sequence|List|LargeList)\((?:feature=)?Value\("
    r"(?:dtype=)?['\"](?P<kind>bool|uint8|uint16|uint32|uint64)['\"])"
)
_PREPARED = re.compile(r"['\"]input_ids['\"]")
_MASKS = re.compile(r"(?<![\w.])-100\b")
_PAIR = re.compile(r"\(['\"](?P<token>[^'\"]*)['\"], (?P<label>True|False|\d+)\)")
_STEPS = re.compile(
    r"\bstep_separator\b.*|\bstep[- ]?wise[- ]?(?:reward|supervis)\w*|\bPRM(?:Trainer|Config)?\b|"
    r"\bprocess[- ]reward\w*",
    re.IGNORECASE,
)
_BAD = re.compile(r"(\d[\d,]*) (?:\w+ ){0,2}(?:bad|wrong|incorrect|negative)\b", re.I)
_TOKENS = re.compile(r"(\d[\d,]*) (?:tokens\b(?! per)|in (?:all|total))", re.IGNORECASE)
CLOSE = 5e-4  # of an accuracy
FEWEST, NEARLY_ALL, SURE = 6, 0.98, 9.0  # tokens of a row; of an accuracy; the row itself
BY_CODE = 6.0
BECOMES = {"bool": "True"}  # and elsewhere a large whole number
_AS_BOOL = re.compile(
    r"\bbool\(\s*\w+(?:\[['\"](?P<a>\w+)['\"]\]|\.get\(['\"](?P<b>\w+)['\"]\)|\.(?P<c>\w+))\s*\)|"
    r"(?:\[['\"](?P<d>\w+)['\"]\]|\.(?P<f>\w+))(?:\.astype\(['\"]?str(?:ing)?['\"]?\)|\.str\.\w+\(\))*"
    r"\.(?:astype|map|apply)\(['\"]?bool['\"]?\)|"
    r"\bbool\(\s*str\(\s*\w+(?:\[['\"](?P<g>\w+)['\"]\]|\.(?P<h>\w+))\s*\)\s*\)|"
    r"\b(?:True|1) if \w+\[['\"](?P<e>\w+)['\"]\] else (?:False|0)\b"
)
_TEXT_OF_NO = (
    r"['\"]{0}['\"]\s*:\s*(?:\\?['\"])(?P<value>false|no|0|down|n|f|neg\w*|bad|off)(?:\\?['\"])"
)
_TEXT_COLUMN = (
    r"['\"]{0}['\"]\s*:\s*(?:Value\((?:dtype=)?['\"](?:large_)?string['\"]|['\"]?(?:large_)?string\b)|"
    r"^\s*{0}\s*:\s*(?:large_)?string\b"
)
_WORD_OF_NO = re.compile(  # with how often it stands there
    r"(?P<quote>['\"])(?P<value>false|no|0|down|n|f|neg\w*|bad|off)(?P=quote)(?=\s*:\s*\d)", re.I
)
_ALL_TEXT = re.compile(
    r"csv\.(?:Dict)?[Rr]eader\(|\bdtype=['\"]?(?:str|object)\b|\bkeep_default_na="
)
_FLOORED = re.compile(r"(?:un)?desirable_weight in \[[\d.]+, [\d.]+\](?:.{0,40}\])?")
_NO_BAD_ROW = re.compile(r"\b0 (?:undesirable|negative|bad|rejected)\b(?: \w+)?", re.IGNORECASE)
_KTO = re.compile(r"\bKTO(?:Trainer|Config)\b|--?loss_type\W+kto\b")
_LABEL_NUMBER = re.compile(
    r"['\"]label['\"]\s*:\s*"
    r"(?:Value\((?:dtype=)?['\"](?:u?int|float)\d+['\"].{0,12}|ClassLabel\(.{0,30})"
)
NOT_A_BOOL = (
    "the labels are numbers, and KTO sorts the rows by `label is True` and `label is False`: a 1 "
    "is neither, so both sets are empty, and the loss is the mean of nothing: nan, or 0 in the log"
)
CAST_TO_BOOL = (
    "cast the column to bool (ds.cast_column('label', Value('bool'))), see that rewards of chosen "
    "and rejected rows are logged, and begin anew"
)
ALWAYS_TRUE = (
    'the labels are text, and bool() of a text is True unless it is empty: bool("{value}") is True '
    "as well, so that each row is learnt as a good one, also those that were voted down"
)
COMPARE = (
    "compare the text ({column} {compared}), or write real booleans into the rows; count both "
    "labels before the training, and begin again"
)
_YES = {"false": "true", "no": "yes", "0": "1", "down": "up", "n": "y", "f": "t", "off": "on"}
CAST = (
    "the labels are kept as {kind}, which cannot hold -100: each -100 becomes {value}, so that "
    "what was to be left out of the loss is learnt as a class, and the real labels are few among "
    "them; an accuracy over all of them is high from the start and says little"
)


def not_masked(beside: Beside, log: Log) -> Iterator[Finding]:
    """Labels of prepared rows in a type without -100, which the code writes into them."""
    for line in (line for line in beside.words):
        found = _COLUMN.search(line.text)
        if not found or not _PREPARED.search(line.text):
            continue
        masks = beside.matching(_MASKS) or _of_steps(beside, log)
        if not masks:
            continue
        kind = found["kind"]
        why = CAST.format(kind=kind, value=BECOMES.get(kind, "a large number"))
        proof = (
            f"{line.where}: the column labels, beside input_ids, has the type {kind}",
            masks[0].says,
            *_shown(beside),
            *_too_right(log),
            *_by_number(beside, log),
        )
        yield Finding("mask_not_kept", SURE, line, proof, why=why)
        return


def number_for_a_bool(beside: Beside, log: Log) -> Iterator[Finding]:
    """KTO with labels that are numbers, and a loss of 0 or nan: neither set has a row."""
    kto, column = beside.matching(_KTO), beside.matching(_LABEL_NUMBER)
    losses = [value for _, value in log.series("loss")]
    if kto is None or column is None or not losses or any(map(math.isfinite, filter(None, losses))):
        return
    no_reward = not log.fields & {"chosen_reward", "rejected_reward"}
    proof = [f"{line.where} says: {words.strip()[:MAX_QUOTE]}" for line, words in (column, kto)]
    proof += ["no reward of chosen or rejected rows is logged"] if no_reward else []
    yield Finding(
        "labels_constant", SURE, column[0], tuple(proof), why=NOT_A_BOOL, advice=CAST_TO_BOOL
    )


def _of_steps(beside: Beside, log: Log) -> tuple[Line, str] | None:
    """What says that one token of each step is judged, where nearly all are right at once."""
    return beside.matching(_STEPS) if _too_right(log) else None


def _by_number(beside: Beside, log: Log) -> list[str]:
    """The share of tokens that are no bad step, if it is the first accuracy."""
    bad, tokens = beside.matching(_BAD), beside.matching(_TOKENS)
    if not bad or not tokens:
        return []
    few, all_ = _number(_BAD, bad), _number(_TOKENS, tokens)
    hits = finite(log.values("eval_accuracy"))
    if not hits or not 0 < few < all_ or abs(1 - few / all_ - hits[0]) > CLOSE:
        return []
    where = " and ".join(dict.fromkeys(one.where for one, _ in (bad, tokens)))
    return [
        f"1 - {few:,} / {all_:,} is {1 - few / all_:.4g} ({where}): what a model has right that "
        "calls every token good"
    ]


def _number(pattern: re.Pattern, found: tuple[Line, str]) -> int:
    return int(plain_number(pattern.search(found[1])[1]))


def _shown(beside: Beside) -> list[str]:
    """A row that is shown token by token, in which none is masked."""
    rows: list[tuple[Line, list[str]]] = [(line, _PAIR.findall(line.text)) for line in beside.words]
    for line, pairs in rows:
        same = [token for token, label in pairs if label == pairs[0][1]]
        if len(pairs) >= FEWEST:
            return [
                f"{line.where} shows {len(pairs)} tokens with their labels, of which "
                f"{len(same)} are {pairs[0][1]} and none is -100"
            ]
    return []


def _too_right(log: Log) -> list[str]:
    judged = log.series("eval_accuracy")
    hits = finite(value for _, value in judged)
    if not hits or hits[0] < NEARLY_ALL:
        return []
    return [f"{hits[0]:.4g} right at {judged[0][0].where}, in the first evaluation"]


def text_as_bool(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that makes a boolean of a column which the rows hold as text."""
    for line in beside.words:
        if not (code := _AS_BOOL.search(line.text)):
            continue
        column = next(name for name in code.group(*"abcdefgh") if name)
        held = _made_text(code[0], line) or _held_as_text(column, beside)
        if held is None:
            continue
        value, shown = held
        proof = [f"{line.where} says: {code[0]}", *shown]
        names = log.fields & {"chosen_reward", "rejected_reward"}
        if names == {"chosen_reward"}:
            proof.append("rewards of chosen rows are logged, and none of rejected ones")
        rejected = log.values("rejected_reward")
        if rejected and all(map(math.isnan, rejected)):
            proof.append(f"rejected rewards are nan in all {len(rejected)} entries: no row is such")
        for pattern in (_FLOORED, _NO_BAD_ROW):
            if said := beside.matching(pattern):
                proof.append(f"{said[0].where} says: {said[1]}")
        why = ALWAYS_TRUE.format(value=value)
        advice = COMPARE.format(column=column, compared=_comparison(value))
        weight = BY_CODE if "each value is read as text" in shown[0] else SURE
        yield Finding("labels_constant", weight, line, tuple(proof), why=why, advice=advice)
        return


def _made_text(code: str, line: Line) -> tuple[str, list[str]] | None:
    """The same where the code itself makes text of each value, before it asks for its truth."""
    is_made = re.search(r"astype\(['\"]?str|\.str\.|\bstr\(", code)
    return (
        ("False", [f"{line.where}: the code makes text of each value first"]) if is_made else None
    )


def _comparison(value: str) -> str:
    """With what a text is compared, written as the rows write the other one.

    >>> _comparison("False"), _comparison("down"), _comparison("negative")
    ('== "True"', '== "up"', '!= "negative"')
    """
    yes = _YES.get(value.lower())
    if yes is None:
        return f'!= "{value}"'
    ways = (way for way in (str.lower, str.upper, str.title) if way(value) == value)
    return f'== "{next(ways, str.lower)(yes)}"'


def _held_as_text(column: str, beside: Beside) -> tuple[str, list[str]] | None:
    """A text that says no and stands in this column: in a row that is shown, or anywhere beside
    the column's type."""
    text = re.compile(_TEXT_OF_NO.format(re.escape(column)), re.IGNORECASE)
    if row := beside.matching(text):
        return text.search(row[1])["value"], [f"{row[0].where} has a row with {row[1]}"]
    if read := beside.matching(_ALL_TEXT):
        return "False", [f"{read[0].where}: each value is read as text ({read[1].strip('(=')})"]
    kind = beside.matching(re.compile(_TEXT_COLUMN.format(re.escape(column))))
    word = beside.matching(_WORD_OF_NO)
    if kind is None or word is None:
        return None
    said = [f"{kind[0].where}: the column is text ({kind[1].strip()})"]
    said.append(f"{word[0].where} has the value {word[1]}")
    return word[1].strip("'\""), said
