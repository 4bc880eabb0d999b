"""What the rules about calls share: statements with what they give to a Trainer or an optimizer,
and what is asked of a paste before one of them speaks."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import thirds
from course_utils.explain.paste.sentences import is_prose

_CODE = re.compile(
    r"\.(?:from_pretrained|backward|\w*parameters|load_adapter|save_pretrained)\b|Trainer\(|--use_peft|"
    r"\b(?:zero_grad|no_grad|inference_mode)\("
)
_OPTIMIZER = re.compile(r"^(?:\w*Adam\w*|SGD\w*|Lion\w*|Adafactor|RMSprop|Muon|Sophia\w*)$")
_TO_SAME = ["to", "cuda", "cpu", "train", "eval", "half", "bfloat16", "float", "requires_grad_"]
STANDS = re.compile(
    r"(?:n.t|\bnot|\bnever|\bnothing|\bno|\bwithout|\bhardly|\bbarely)\b.{0,40}\b(?:learn|improv|"
    r"updat|chang|decreas|converg|train|mov|go(?:es)? (?:up|down)|drop|fall|gradient|require grad)|"
    r"\b(?:stuck|flat|constant|unchanged|stays?|plateau\w*|random|same|chance)\b|"
    r"\bgrad.{0,20}\bnone\b",
    re.IGNORECASE,
)
SHOWN, TOLD, FALLS, RISES = 6.0, 5.0, 0.7, 1.3  # weights; last third of a log, by its first
Found = tuple[list[Line], str] | None  # the lines that show it, and what stands there


@dataclass(frozen=True)
class Row:
    """A statement, its line, and what it gives to a Trainer or an optimizer, by which call."""

    line: Line
    one: ast.stmt
    trains: frozenset[str] = frozenset()
    by: ast.Call | None = None

    @property
    def calls(self) -> dict[str, ast.Call]:
        """The calls of it by the last part of their names."""
        return {name_of(call.func): call for call in calls(self.one)}

    @property
    def is_block(self) -> bool:
        return isinstance(self.one, (ast.FunctionDef, ast.ClassDef))


@dataclass(frozen=True)
class Rule:
    """`finds` looks at the rows; `complaint` must stand in a sentence where it is given."""

    finds: Callable[[list[Row], Beside], Found]
    key: str
    why: str
    advice: str
    complaint: re.Pattern | None = None
    weight: float = 0.0  # where it is not that of all
    of_learning: bool = True  # a log that shows that the run learns contradicts it


def told(beside: Beside, log: Log, rules: tuple[Rule, ...]) -> Iterator[Finding]:
    """What the rules find in the statements of a paste."""
    if not beside.matching(_CODE):
        return
    rows, learns = list(_rows(beside)), _learns(log)
    for rule in rules:
        if (learns and rule.of_learning) or not _is_said(rule.complaint, beside):
            continue
        if found := rule.finds(rows, beside):
            proof = tuple(dict.fromkeys(one.says for one in found[0]))
            weight = rule.weight or (TOLD if rule.complaint else SHOWN)
            why = rule.why.format(found[1])
            yield Finding(rule.key, weight, found[0][0], proof, why=why, advice=rule.advice)


def _is_said(complaint: re.Pattern | None, beside: Beside) -> bool:
    said = (line.text for line in beside.words if is_prose(line.text))
    return complaint is None or any(complaint.search(text) for text in said)


def _learns(log: Log) -> bool:
    """Whether the loss falls clearly, or a reward or an accuracy rises."""
    loss = thirds(log.values("loss"))
    rising = (thirds(log.values(name)) for name in ("reward", "eval_accuracy", "accuracy"))
    falls = bool(loss) and loss[2] < FALLS * loss[0]
    return falls or any(one and one[2] > RISES * one[0] > 0 for one in rising)


def _rows(beside: Beside) -> Iterator[Row]:
    groups: dict[str, set[str]] = {}  # of parameters, by the name that holds them
    for line, one in statements(beside):
        if line.text.startswith("-"):
            continue  # taken out by a diff
        for target, value in bound(one):
            groups[written(target)] = _parameters(value)
        for call in calls(one):
            if trains := _trained(call, groups):
                yield Row(line, one, frozenset(trains), call)
                break
        else:
            yield Row(line, one)


def _trained(call: ast.Call, groups: dict[str, set[str]]) -> set[str]:
    name = name_of(call.func)
    if name.endswith("Trainer"):
        first = call.args[1:2] if name == "PPOTrainer" and len(call.args) > 1 else call.args[:1]
        return {written(one) for one in (*first, keyword(call, "model", "policy")) if one}
    if not _OPTIMIZER.match(name):
        return set()
    named = (groups.get(written(one), set()) for one in call.args[:1])
    return _parameters(call).union(*named)


def _parameters(node: ast.AST) -> set[str]:
    """The models whose parameters are named in it."""
    asked = (one for one in calls(node) if isinstance(one.func, ast.Attribute))
    return {written(one.func.value) for one in asked if one.func.attr.endswith("parameters")}


def written(node: ast.AST | None) -> str:
    return ast.unparse(node) if node is not None else ""


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """What a call is given by one of these names, None as well where that is None."""
    given = (one.value for one in call.keywords if one.arg in names)
    return next((one for one in given if written(one) != "None"), None)


def is_open(call: ast.Call) -> bool:
    """Whether it is given more than is written: `**kwargs`, `*args` or `...`."""
    stars = any(isinstance(one, ast.Starred) or written(one) == "..." for one in call.args)
    return stars or any(one.arg is None for one in call.keywords)


def goes_on(rows: list[Row], number: int) -> bool:
    """Whether something is trained from this row on."""
    by = rows[number].by
    begins = any(row.calls.keys() & {"train", "backward", "fit", "step"} for row in rows[number:])
    return begins or bool(by and keyword(by, "train_dataset"))


def maker(value: ast.AST) -> ast.Call | None:
    """The call that made a value, without `.to(device)` and the like behind it.

    >>> written(maker(ast.parse("load(path).to(device).train()").body[0].value))
    'load(path)'
    """
    while isinstance(value, ast.Call) and name_of(value.func) in _TO_SAME:
        if not isinstance(value.func, ast.Attribute) or not isinstance(value.func.value, ast.Call):
            break
        value = value.func.value
    return value if isinstance(value, ast.Call) else None
