"""The signs of a policy's own loss: an objective that is minimised, a KL that is taken from it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, thirds

_CODE = re.compile(r"\badv|ratio|log_?p", re.IGNORECASE)
_MAXIMISES = re.compile(r"maximize\s*=\s*True")
_ADVANTAGE = re.compile(r"\badv\w*|\w*advantages?|\bA\b|\bgae\b")
_RATIO = re.compile(r"\bratios?\b|\w*_ratio\b|\br_t\b|\bimp\w*\b")
_LOGP = re.compile(r"\b\w*(?:log_?p\w*|log_?prob\w*|\blp\b)")
_KL = re.compile(r"^(?:\w+_)?(?:kl|kld|kl_div|kl_loss|kl_term|kl_penalty|k3)(?:_\w+)?$", re.I)
_LOSS = re.compile(r"^(?:\w+_)?loss$")
_REWARD = re.compile(r"reward|score|return|adv|target|delta", re.IGNORECASE)
_COUNTED = re.compile(r"coef|beta|weight|alpha|lambda", re.IGNORECASE)
_REFERENCE_FIRST = re.compile(r"^\(*(?:\w*ref\w*|\w+_ref)\b.*-(?!.*exp)")
FALLS, RISES, FAR = 0.85, 5.0, 0.2  # of the first third; times it; nats
SURE, SHOWN = 9.1, 7.6
MINIMISED = (
    "the objective is minimised: `{code}` is what should grow (the ratio or log-prob times the "
    "advantage), and no minus stands before it on its way to backward(). So each step makes good "
    "replies rarer and bad ones more likely, the slower at a lower rate"
)
MINUS = (
    "put the minus: loss = -(...), and begin again from the weights of the start; the log-prob of "
    "a reply with a positive advantage must rise behind one step. Clip range and rate are sound"
)
REWARDED = (
    "the KL is taken from the loss, which is minimised, so that moving away from the reference is "
    "rewarded: each step raises the KL, the faster the larger its coefficient"
)
ADD_IT = (
    "add the KL times its coefficient to the loss (loss = -objective + beta * kl), go back to "
    "weights from before it rose, and see that a larger coefficient makes the KL smaller"
)


Sign = tuple[int, Line]


@dataclass
class _Signs:
    """With which sign names hold the objective and the KL, and which line made them so."""

    objective: dict[str, Sign] = field(default_factory=dict)
    kl: dict[str, Sign] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    within: str = ""  # the function whose lines these are
    last: str = ""  # the name of the last loss

    def take(self, line: Line, statement: ast.stmt) -> None:
        """Take what a statement binds, or what a function returns under its own name."""
        if isinstance(statement, ast.FunctionDef):
            self.within = statement.name
        for target, value in bound(statement):
            self._bind(name_of(target), value, line)
        if isinstance(statement, ast.Return) and self.within and statement.value:
            self._bind(self.within, statement.value, line)
            self.last = self.within if "loss" in self.within else ""
            self.within = ""

    def _bind(self, name: str, value: ast.expr, line: Line) -> None:
        objective, kl = self.of(value, line)
        self.held[name] = ast.unparse(value)
        self.last = name if _LOSS.match(name) else self.last
        if _KL.match(name) and not kl and not _REFERENCE_FIRST.match(self.held[name]):
            kl = (1, line)
        _keep(self.objective, name, objective)
        _keep(self.kl, name, None if _REWARD.search(name) else kl)

    def of(self, value: ast.expr, line: Line) -> tuple[Sign | None, Sign | None]:
        """The signs with which an expression holds the objective and the KL."""
        objective = _sign_of(value, self.objective, self.held)
        kl = _sign_of_kl(value, self.kl, self.held)
        return _at(objective, line), _at(kl, line)


def wrong_signs(beside: Beside, log: Log) -> Iterator[Finding]:
    """What is handed to backward() with the objective as it is, or with the KL turned round."""
    if not beside.matching(_CODE) or beside.matching(_MAXIMISES):
        return
    for line, objective, kl, is_sure in _minimised(beside):
        if objective and objective[0] > 0 and _bears_out(_falls(log), is_sure):
            shown = objective[1]
            proof = tuple(dict.fromkeys((shown.says, line.says, *_falls(log))))
            why = MINIMISED.format(code=shown.text.strip()[:70])
            weight = SURE if _falls(log) else SHOWN
            key = "objective_minimised"
            yield Finding(key, weight, shown, proof, why=why, advice=MINUS)
            return
        is_turned = kl and kl[0] < 0 and objective and objective[0] < 0
        if is_turned and _bears_out(_kl_rises(log), is_sure):
            proof = tuple(dict.fromkeys((kl[1].says, *_kl_rises(log))))
            weight = SURE if _kl_rises(log) else SHOWN
            yield Finding("kl_subtracted", weight, kl[1], proof, why=REWARDED, advice=ADD_IT)
            return


def _bears_out(shown: list[str] | None, is_sure: bool) -> bool:
    """Whether a log speaks for it; where no backward() is in the paste, it must."""
    return bool(shown) or (is_sure and shown is not None)


def _minimised(beside: Beside) -> Iterator[tuple[Line, Sign | None, Sign | None, bool]]:
    """What each backward() is given, with its signs, or else the last loss: a paste without
    backward() is less sure."""
    signs, is_run = _Signs(), False
    for line, statement in statements(beside):
        signs.take(line, statement)
        for call in calls(statement):
            if name_of(call.func) == "backward" and (of := _given_to(call)):
                is_run = True
                yield line, *signs.of(of, line), True
        at = line
    if signs.last and not is_run:
        yield at, signs.objective.get(signs.last), signs.kl.get(signs.last), False


def _given_to(call: ast.Call) -> ast.expr | None:
    """What is handed to backward(): of `loss.backward()` and of `accelerator.backward(loss)`."""
    return call.args[0] if call.args else getattr(call.func, "value", None)


def _keep(kept: dict[str, Sign], name: str, sign: Sign | None) -> None:
    kept.pop(name, None)
    if name and sign:
        kept[name] = sign


def _at(sign: tuple | None, line: Line) -> Sign | None:
    """The sign with the line that made it: the first one."""
    return (sign[0], sign[1] or line) if sign and sign[0] else None


def _sign_of(value: ast.AST, known: dict, held: dict[str, str]) -> tuple | None:
    """The sign with which an expression holds the objective: 1, -1, or None where it does not."""
    for node, sign in _signed(value):
        name = name_of(node.func) if isinstance(node, ast.Call) else name_of(node)
        if name in known:
            return sign * known[name][0], known[name][1]
        if made := _makes(node, held):
            return sign * made, None
    return None


def _sign_of_kl(value: ast.AST, known: dict, held: dict[str, str]) -> tuple | None:
    for node, sign in _signed(value):
        name = name_of(node.func) if isinstance(node, ast.Call) else name_of(node)
        if name in known:
            return sign * known[name][0], known[name][1] if sign > 0 else None
        is_turned = _REFERENCE_FIRST.match(held.get(name, ""))
        if _KL.match(name) and not (_COUNTED.search(name) or isinstance(node, ast.Call)):
            return None if is_turned else (sign, None)
    return None


def _signed(node: ast.AST, sign: int = 1) -> Iterator[tuple[ast.AST, int]]:
    """The parts of an expression, the outer ones first, each with its sign."""
    yield node, sign
    if isinstance(node, ast.UnaryOp):
        yield from _signed(node.operand, -sign if isinstance(node.op, ast.USub) else sign)
    elif isinstance(node, ast.BinOp):
        is_taken = isinstance(node.op, ast.Sub)
        both = [(node.left, 1), (node.right, -1 if is_taken else 1)]
        factor = _constant_sign(both) if isinstance(node.op, ast.Mult | ast.Div) else 1
        for part, own in both:
            yield from _signed(part, sign * own * factor)
    elif isinstance(node, ast.Call):
        is_turned = name_of(node.func) in ("neg", "neg_", "negative")
        inner = -sign if is_turned else sign
        if isinstance(node.func, ast.Attribute):
            yield from _signed(node.func.value, inner)
        for part in node.args:
            yield from _signed(part, inner)
    elif isinstance(node, ast.Subscript):
        yield from _signed(node.value, sign)


def _constant_sign(both: list[tuple[ast.AST, int]]) -> int:
    """-1 where one of two factors is a negative number."""
    minus = [one for one, _ in both if isinstance(one, ast.UnaryOp) and _is_number(one.operand)]
    return -1 if len(minus) == 1 and isinstance(minus[0].op, ast.USub) else 1


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _makes(node: ast.AST, held: dict[str, str]) -> int:
    """The sign of an objective that an expression makes: the smaller of two products of ratio and
    advantage, or a log-prob times an advantage; 0 where it makes none or it is not plain."""
    if isinstance(node, ast.Call) and name_of(node.func) in ("min", "minimum"):
        texts = [ast.unparse(one) for one in node.args[:2]]
        whole = " ".join(held.get(text, text) for text in texts)
        is_such = (
            _RATIO.search(whole) and _ADVANTAGE.search(whole) and re.search("clamp|clip", whole)
        )
        return 1 if is_such and "-" not in re.sub(r"[\[(]?\d*\.?\d* - \w+", "", whole) else 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        one, other = ast.unparse(node.left), ast.unparse(node.right)
        pairs = ((one, other), (other, one))
        is_such = any(_LOGP.search(a) and _ADVANTAGE.search(b) for a, b in pairs)
        return 1 if is_such and "-" not in f"{one} {other}" else 0
    return 0


def _falls(log: Log) -> list[str] | None:
    """What shows that the reward falls; [] without a log, and None where it does not."""
    levels = thirds(log.values("reward"))
    if levels is None:
        return [] if not log.values("reward") else None
    told = f"the reward by thirds of the log: {listed(levels)}"
    return [told] if levels[2] < FALLS * levels[0] else None


def _kl_rises(log: Log) -> list[str] | None:
    """The same of the KL, that it rises."""
    values = finite(log.values("kl") or log.values("kl_loss"))
    if not values:
        return []
    rises = values[-1] > max(FAR, RISES * abs(values[0]))
    return [f"the kl goes from {values[0]:.3g} to {values[-1]:.3g}"] if rises else None
