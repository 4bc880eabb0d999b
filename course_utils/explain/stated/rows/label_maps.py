"""Numbers of classes that are made anew for each file, so that one class has two numbers."""

import re
from collections.abc import Iterator
from itertools import groupby

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.side_tables import side_tables

_BY_ORDER = re.compile(  # numbered as they come
    r"\bfactorize\((?!.*sort\s*=\s*True)|"
    r"\benumerate\(\s*(?:set\(|list\(set\(|dict\.fromkeys\(|[\w.\[\]'\"]+\.unique\(\)|"
    r"\w+\.unique\(['\"])|\bCounter\(.*\benumerate\("
)
_BY_NAME = re.compile(  # numbered by the alphabet, of the classes that are there
    r"\bfactorize\(.*sort\s*=\s*True|\.cat\.codes\b|\bclass_encode_column\(|"
    r"\b(?:LabelEncoder\(\)|le|\w*enc(?:oder)?)\.fit_transform\(|\benumerate\(\s*sorted\("
)
_ONE_MAP = re.compile(
    r"\bcategories\s*=|\bClassLabel\(|\b(?:le|\w*enc(?:oder)?)\.transform\(|"
    r"\.(?:map|replace)\(\s*\w*(?:label|id|class|map|l2i)\w*\s*\)|\blabel2id\s*\[|\bget_indexer\(",
    re.IGNORECASE,
)
_DEF = re.compile(r"^(?P<indent>\s*)def (?P<name>\w+)\(")
_TRAIN = re.compile(r"train", re.IGNORECASE)
_HELD = re.compile(r"(?:test|eval|val|dev|held)", re.IGNORECASE)
_WORD_TRAIN = re.compile(r"\btrain(?![a-z])")
_WORD_HELD = re.compile(r"\b(?:test|eval|val|valid|validation|dev)(?![a-z])")
_JOINED = re.compile(r"\bconcat\w*\(|\bunion\(|\bset\([^)]*\)\s*\||\bappend\(")
_LOOP = re.compile(r"^\s*for .*:\s*$")
_NUM = re.compile(
    r"\bnum_(?:labels|classes)\W{1,3}(\d+)|"
    r"\b(\d+) (?:\w+ ){0,2}(?:classes|labels|categories|intents)\b"
)
_OF_A_CLASS = re.compile(r"^(?:recall|acc(?:uracy)?|hit[_ ]?rate)$", re.IGNORECASE)
_TOTAL = re.compile(r"[|\u2502].*$")
_NUMBERS = re.compile(r"^\W*(?:[A-Za-z][\w./-]*\s+)?((?:\d+[\s,]+)+\d+)\W*$")
_IS_LOW = re.compile(
    r"\b(?:eval\w*|test|val\w*|dev|held.out)\b[^.\n]{0,60}\b(?:terribl\w*|chance|random|bad|worse|low|"
    r"poor|wrong|garbage|(?:near|close to|around) (?:0|zero))\b",
    re.IGNORECASE,
)
FEWEST, MOST, KEPT, LOW, BELOW = 3, 40, 0.25, 0.6, 0.8  # classes; of them; of a guess
SEVERAL, PART = 2, 0.5  # calls, classes; of the rows of a class
RIGHT, NEVER = 0.8, 0.05  # of the rows of a class
TWO_MAPS = (
    "the classes are numbered anew in each file, {how}, so that a class has one number in training "
    "and another one in the evaluation: a model that is right is counted as wrong, and the surer "
    "it is the larger the loss of the evaluation"
)
ORDERED = "in the order in which they come"
NAMED = "by the classes that are in it"
TURNED = (
    "the classes have other numbers in the evaluation than in training (or in the model's own "
    "label2id): a model that is right is counted as wrong"
)
ONE_MAP = (
    "make the map once, from the training rows, and use it for both (pd.Categorical(column, "
    "categories=names), ClassLabel(names=names), or encoder.transform); write it into the model as "
    "id2label. The trained model may be good: count its answers again with its own map"
)


def numbered_in_each_file(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that numbers the classes of two files apart, and an evaluation that is turned round."""
    if beside.matching(_ONE_MAP):
        return
    lines = beside.words
    matrix, hits = turned(beside), _hits(log)
    shown = [*([matrix[2]] if matrix else []), *_below_chance(log, beside, matrix)]
    shown += _right_or_never(beside)
    for pattern, how in ((_BY_ORDER, ORDERED), (_BY_NAME, NAMED)):
        if not (code := _on_both(lines, pattern)):
            continue
        parts = (one for one in (*lines, *log.entries) if "=" not in one.text)
        told = next((one for one in parts if _IS_LOW.search(one.text)), None)
        is_right = (hits and max(hits) > LOW) or _improves(log)
        if not shown and (is_right or (how == NAMED and told is None)):
            return
        proof = [line.says for line in (*code, *([told] if told else []))]
        weight = 9.0 if shown else 6.6 if hits else 6.0 if how == ORDERED else 5.0
        why = TWO_MAPS.format(how=how)
        at, said = code[0], (*proof, *shown)
        yield Finding("evaluation_rows_differ", weight, at, said, why=why, advice=ONE_MAP)
        return
    if matrix:
        at, said = matrix[1], tuple(shown)
        yield Finding("evaluation_rows_differ", 7.5, at, said, why=TURNED, advice=ONE_MAP)


def _on_both(lines: list[Line], pattern: re.Pattern) -> list[Line]:
    """The line that numbers, with the calls of its function on training and other rows; or two
    such lines, one for each."""
    found = [line for line in lines if pattern.search(line.text)]
    once = next((line for line in found if _names_both(lines, line)), None)
    if once is not None:
        return [once]
    apart = [
        next((one for one in found if name.search(one.text)), None) for name in (_TRAIN, _HELD)
    ]
    if all(apart) and apart[0] is not apart[1]:
        return [line for line in apart if line]
    for line in found[:1]:
        above = [m for one in lines[: lines.index(line)] if (m := _DEF.match(one.text))]
        if not above:
            continue
        call = re.compile(rf"(?<!def )\b{re.escape(above[-1]['name'])}\(")
        calls = [one for one in lines if call.search(one.text)]
        once = next((one for one in calls if _names_both(lines, one)), None)
        if once is not None:
            return [line, once]
        kinds = [next((c for c in calls if name.search(c.text)), None) for name in (_TRAIN, _HELD)]
        if all(kinds) and kinds[0] is not kinds[1]:
            return [line, *(one for one in kinds if one)]
    return []


def _names_both(lines: list[Line], line: Line) -> bool:
    """Whether a line, with the loop that it stands in, goes over training and other rows."""
    above = lines[lines.index(line) - 1].text if lines.index(line) else ""
    text = f"{above} {line.text}" if _LOOP.match(above) else line.text
    is_repeated = " for " in f" {text}" or line.text.count("(") > 1
    return (
        is_repeated
        and not _JOINED.search(text)
        and bool(_WORD_TRAIN.search(text) and _WORD_HELD.search(text))
    )


def _hits(log: Log) -> list[float]:
    return finite(log.values("eval_accuracy") or log.values("accuracy"))


def _improves(log: Log) -> bool:
    losses = finite(log.values("eval_loss"))
    return bool(losses) and losses[-1] < BELOW * losses[0]


def _below_chance(log: Log, beside: Beside, matrix: tuple[int, Line, str] | None) -> list[str]:
    """An accuracy that is below that of a guess in every evaluation."""
    told, hits = beside.matching(_NUM), _hits(log)
    count = int(next(filter(None, _NUM.search(told[1]).groups()))) if told else 0
    classes = matrix[0] if matrix else count
    if not hits or classes < FEWEST or max(hits) >= BELOW / classes:
        return []
    return [
        f"the accuracy is {max(hits):.3g} at most, below the {1 / classes:.2g} of a guess among "
        f"{classes} classes: what is learnt is asked for under another number"
    ]


def _right_or_never(beside: Beside) -> list[str]:
    """A table in which some classes are nearly always right, and the others never."""
    for table in side_tables(beside):
        for place in table.places(_OF_A_CLASS)[:1]:
            rates = table.column(place)
            right = [rate for _, rate in rates if RIGHT <= rate <= 1]
            never = [rate for _, rate in rates if rate < NEVER]
            if min(len(right), len(never)) < SEVERAL or len(right) + len(never) < len(rates):
                continue
            return [
                f"{rates[0][0].where} on: {len(right)} classes are right in {min(right):.2g} of "
                f"their rows or more, and {len(never)} in {max(never):.2g} at most"
            ]
    return []


def turned(beside: Beside) -> tuple[int, Line, str] | None:
    """How many classes a confusion matrix has in which each is answered as one other class."""
    for _, group in groupby(_rows(beside), key=lambda row: (row[0], len(row[2]))):
        block = list(group)
        size, width = len(block), len(block[0][2])
        if not FEWEST <= size <= MOST or width not in (size, size + 1):
            continue
        rows = [numbers[width - size :] for _, _, numbers in block]
        answers = [row.index(max(row)) for row in rows]
        is_clear = all(row[a] > PART * sum(row) for row, a in zip(rows, answers, strict=True))
        fixed = sum(a == number for number, a in enumerate(answers))
        if is_clear and len(set(answers)) == size and fixed <= KEPT * size:
            told = ", ".join(f"{number} as {a}" for number, a in enumerate(answers))
            at = block[0][1]
            said = f"{at.where} on: most rows of each class are answered as one other: {told}"
            return size, at, said
    return None


def _rows(beside: Beside) -> Iterator[tuple[int, Line, list[int]]]:
    """Lines of whole numbers, with the number of their block."""
    block = 0
    for line in beside.words:
        found = _NUMBERS.match(_TOTAL.sub("", line.text))
        if found is None:
            block += 1
            continue
        yield block, line, [int(one) for one in re.findall(r"\d+", found[1])]
