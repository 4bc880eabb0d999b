"""Classes that are numbered in the order of a set, which is another one in each process."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.stated.rows.label_maps import turned

_KEPT = re.compile(
    r"PYTHONHASHSEED\W{1,3}\d|\b(?:json|pickle|joblib|yaml|torch)\.(?:dumps?|loads?|save)\("
    r"[^)]*(?:label|class|name|id2|2id|map)|"
    r"\b(?:json|pickle)\.load\(|config\.(?:id2label|label2id)|"
    r"\b(?:id2label|label2id)=\w+\s*(?:,|\)|$)",  # given to the model
    re.IGNORECASE,
)
_MAP = re.compile(r"\blabel2id\s*=|\bid2label\b\s*[=\[]")  # as a rule the model's, which keeps it
_MAP_OF_A_SET = re.compile(r"\b(?:label2id|id2label)\s*=.*\bset\(")
_SCORED = re.compile(
    r"^\W*(?P<name>acc(?:uracy)?|f1|macro[_ -]f1|exact match)\W{1,3}(?P<value>\d*\.\d+)\W*$", re.I
)
_SCRIPT = re.compile(r"^\W*(?:#\s*)?(?:python3?\s+)?(?P<name>[\w/-]+\.py)\b")
_RUN = re.compile(r"^\W*(?P<run>(?:python3?|torchrun|accelerate launch) \S+\.py\b.*)")
_AGAIN = re.compile(
    r"\b(?:every|each) (?:time|start|run|restart)\b|\banother (?:number|result|score)\b|"
    r"\bdifferent (?:number|result|score|accurac\w+)\b|\b(?:re)?start (?:it |\w+\.py )?again\b",
    re.IGNORECASE,
)
_FROM_A_SET = re.compile(r"\b(?:list|enumerate)\((?:list\()?set\(")
_TOLD = re.compile(r"(?:\b|_)acc(?:uracy)?\b['\"]?\W{1,3}(?P<n>0\.\d+)", re.IGNORECASE)
_DEF = re.compile(r"^\s*def (?P<name>\w+)\(")
SURE, FOLLOWS, ALONE = 9.2, 7.4, 6.0
HIGH, LOW, SEVERAL = 0.7, 0.6, 2  # an accuracy; of the best one; of them
UNORDERED = (
    "the classes are numbered in the order of a set ({code}), and that of a set of strings is "
    "another one in each Python process, since their hashes begin with a new random seed. So the "
    "program that loads the model gives its outputs other names than the one that trained it: "
    "the model is the same and as good, each class gets one name throughout, mostly that of "
    "another, and the score counts the classes whose number is the same by chance"
)
IN_ORDER = (
    "names = sorted(set(...)), and write the map into the model (id2label, label2id in its "
    "config) and read it from there. The trained model need not be trained again: find its map by "
    "the class that each output stands for on labelled rows"
)


def numbered_by_a_set(beside: Beside, log: Log) -> Iterator[Finding]:
    """list(set(...)) that is counted through, and an evaluation that is turned round or changes."""
    if beside.matching(_KEPT) or (beside.matching(_MAP) and not beside.matching(_MAP_OF_A_SET)):
        return
    found = _numbered(beside)
    if found is None:
        return
    made, code = found
    scores, twice, told = _scores(beside, log), _two_programs(beside, made), _told(beside)
    again = told or _runs(beside)
    matrix, lower = turned(beside), [] if scores else _lower_each_time(beside, log)
    shown = [*scores, *lower, *([matrix[2]] if matrix else [])]
    alone = len(twice) > 1 and len(beside.all_matching(_FROM_A_SET)) > 1
    if not (alone or (told and twice)) and not (again and scores) and not (lower or matrix):
        return
    proof = [made.says, *shown, *twice, *again]
    why = UNORDERED.format(code=code)
    weight = SURE if shown else FOLLOWS if told else ALONE
    yield Finding("evaluation_rows_differ", weight, made, tuple(proof), why=why, advice=IN_ORDER)


def _numbered(beside: Beside) -> tuple[Line, str] | None:
    """The line that takes the names out of a set, if a later one numbers them."""
    sets: dict[str, tuple[Line, str]] = {}
    for line, statement in statements(beside):
        for call in calls(statement):
            if name_of(call.func) not in ("enumerate", "index", "zip"):
                continue
            is_index = name_of(call.func) == "index" and isinstance(call.func, ast.Attribute)
            of = [call.func.value] if is_index else call.args
            for one in of:
                if name_of(one) in sets:
                    return sets[name_of(one)]
                if _is_set(one):
                    return line, ast.unparse(one)[:60]
        for target, value in bound(statement):
            sets.pop(name_of(target), None)
            if name_of(target) and _is_set(value):
                sets[name_of(target)] = (line, ast.unparse(value)[:60])
        if isinstance(statement, ast.Expr):  # names.sort()
            for call in calls(statement):
                if name_of(call.func) == "sort" and isinstance(call.func, ast.Attribute):
                    sets.pop(name_of(call.func.value), None)
    return None


def _is_set(value: ast.AST) -> bool:
    """Whether a value is a set of what stands in a column (not of numbers), or the list of one."""
    if any(name_of(one.func) == "int" for one in calls(value)):
        return False
    if isinstance(value, ast.SetComp):
        return True
    if isinstance(value, ast.List) and len(value.elts) == 1:
        one = value.elts[0]
        return isinstance(one, ast.Starred) and _is_set(one.value)
    if not isinstance(value, ast.Call) or len(value.args) != 1:
        return False
    made = name_of(value.func)
    return made == "set" or (made in ("list", "tuple") and _is_set(value.args[0]))


def _scores(beside: Beside, log: Log) -> list[str]:
    """The same score, printed alone on its line several times, and another one each time."""
    lines = sorted([*(line for line in beside.words), *log.entries], key=place)
    found = [(line, m) for line in lines if (m := _SCORED.match(line.text))]
    values = [float(m["value"]) for _, m in found if m["name"] == found[0][1]["name"]]
    if len(values) < 2 or len(set(values)) < len(values):
        return []
    first, last = found[0][0], found[-1][0]
    return [
        f"{first.where} to {last.where}: {found[0][1]['name']} is "
        f"{', '.join(f'{value:g}' for value in values[:4])}, another one each time"
    ]


def _lower_each_time(beside: Beside, log: Log) -> list[str]:
    """Accuracies that differ from run to run and are all far below that of the training."""
    lines = [*(line for line in beside.words), *log.entries]
    told = [(one, float(m["n"])) for one in lines for m in _TOLD.finditer(one.text)]
    hits = finite(log.values("eval_accuracy") + log.values("accuracy"))
    best = max([*hits, *(rate for _, rate in told)], default=0.0)
    low = {rate: line for line, rate in told if rate < LOW * best}
    if best < HIGH or len(low) < SEVERAL:
        return []
    shown = ", ".join(f"{rate:g} ({line.where})" for rate, line in list(low.items())[:4])
    return [f"the accuracy is another one each time, {shown}, and {best:g} in the training"]


def _told(beside: Beside) -> list[str]:
    """That each start is said to give another number."""
    told = next((one for one in beside.told() if _AGAIN.search(one.text)), None)
    return [told.says] if told else []


def _runs(beside: Beside) -> list[str]:
    """That one program was run several times."""
    runs = [(line, m["run"]) for line in beside.words if (m := _RUN.match(line.text))]
    same = [line for line, name in runs if sum(name == other for _, other in runs) > 1]
    return [f"{line.where} says: {line.text.strip()[:80]}" for line in same[-1:]]


def _two_programs(beside: Beside, made: Line) -> list[str]:
    """That the function with the set is called in two places, or two scripts are named."""
    lines = beside.words
    above = [m["name"] for line in lines[: lines.index(made)] if (m := _DEF.match(line.text))]
    if above:
        call = re.compile(rf"(?<!def )\b{re.escape(above[-1])}\(")
        places = [line for line in lines if call.search(line.text)]
        if len(places) > 1:
            return [o.says for o in places[:2]]
    scripts = {m["name"]: line for line in lines if (m := _SCRIPT.match(line.text))}
    if len(scripts) > 1:
        return [f"{line.where} says: {line.text.strip()[:80]}" for line in scripts.values()][:2]
    return []
