"""Code that makes pairs from replies in the order of a rank or a score, and takes the worse one
as chosen."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.rows.orders import Order, Orders, sense_of, sorted_in_place

_PAIRS = re.compile(r"['\"](?:chosen|rejected)['\"]|\b(?:chosen|rejected)\w*\s*[,=]")
_GOOD = re.compile(r"(?<![a-z])(?:chosen|best|winner|preferred|accepted|better)(?![a-z])")
_BAD = re.compile(r"(?<![a-z])(?:rejected|worst|loser|dispreferred|worse)(?![a-z])")
TURNED = re.compile(  # what says that the order is the other one here
    r"\b(?:higher|larger|bigger|highest|largest)\b.{0,20}\b(?:rank|place|is worse)|"
    r"\brank\w*\b.{0,25}\b(?:higher|larger|highest|largest) (?:is|=) (?:the )?best|"
    r"\blower\b.{0,20}\b(?:score|reward|rating)|"
    r"\b(?:score|reward|rating)s?\b.{0,25}\b(?:lower|lowest|smaller|smallest) (?:is|=)|"
    r"\b(?:badness|toxic\w*|harm\w*|(?<!length )penalt\w*|violation\w*)\b",
    re.IGNORECASE,
)
_TESTED = re.compile(
    r"(?P<wins>\d+(?:\.\d+)?) ?% (?:wins?|won)\b.*?(?P<lost>\d+(?:\.\d+)?) ?% (?:loss\w*|lost)|"
    r"\bwin[- _]?rate\b(?! 0\.)\D{0,40}?(?P<rate>\d+(?:\.\d+)?) ?%",
    re.IGNORECASE,
)
SURE, LIKELY, HALF = 9.0, 8.0, 50.0
WORST = (
    "the pairs are turned round: {quantity} is {sense}, and the code takes the reply with the "
    "{end} {quantity} as the {role} one, so that the run learns to prefer the worse replies. The "
    "loss, the margin and the accuracy do not show it, nor does an evaluation on pairs that are "
    "made in the same way"
)
OTHER_WAY = (
    "take the other end of the order (sort the other way, or exchange the two), see in ten pairs "
    "that the better reply is the chosen one, and begin again from the model before this run"
)
BY_NAME = "which end is the better one is taken from its name: no test beside it shows it"
SENSES = {"low": "better the lower it is", "high": "better the higher it is"}


def turned_by_its_order(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code whose chosen reply stands at the worse end of a rank or a score."""
    is_of_pairs = log.kind() == "preference" or beside.matching(_PAIRS)
    if log.kind() == "policy" or not is_of_pairs or beside.matching(TURNED):
        return
    orders, roles = Orders(), []
    for line, statement in statements(beside):
        made = (*sorted_in_place(statement), *_in_pairs(statement), *bound(statement))
        for target, value in made:
            _learn(orders, target, value, line)
            roles += _roles(target, value, orders, line)
        for one in ast.walk(statement):
            if isinstance(one, ast.Dict):
                keys = ((k, v) for k, v in zip(one.keys, one.values, strict=True) if k)
                for key, value in keys:
                    roles += _roles(key, value, orders, line)
    wrong = [one for one in roles if one[3]]
    if not wrong or len(wrong) < len(roles):
        return  # the two ends are told apart rightly somewhere
    role, order, line, sense = next((one for one in wrong if one[0] == "chosen"), wrong[0])
    lines = {one.where: one for one in (order.line, line)}
    tested = lost(beside)
    proof = [one.says for one in lines.values()]
    of = {"quantity": order.quantity, "sense": SENSES[sense]}
    end = {"low": "lowest", "high": "highest"}[order.end]
    why = WORST.format(**of, end=end, role=role)
    weight = SURE if tested else LIKELY
    of = ("pairs_inverted", weight, order.line, (*proof, *tested), () if tested else (BY_NAME,))
    yield Finding(*of, why=why, advice=OTHER_WAY)


def _in_pairs(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Of `for a, b in combinations(ordered, 2)`, the two and what they keep the order of."""
    made = statement.iter if isinstance(statement, ast.For) else None
    if isinstance(made, ast.Call) and name_of(made.func) in ("combinations", "pairwise"):
        yield from ((statement.target, value) for value in made.args[:1])


def _learn(orders: Orders, target: ast.expr, value: ast.expr, line: Line) -> None:
    found = orders.of(value, line)
    if isinstance(target, ast.Tuple) and found and not found.end:  # best, *_, worst = sorted(...)
        for number, at in ((0, 0), (len(target.elts) - 1, -1)):
            low = found.is_rising == (at == 0)
            end = "low" if low else "high"
            name = name_of(target.elts[number])
            orders.known[name] = Order(found.quantity, found.is_rising, found.line, end)
        return
    name = name_of(target)
    if name and isinstance(target, ast.Name):
        orders.known.pop(name, None)
        if found is not None:
            orders.known[name] = found


def _roles(target, value, orders: Orders, line: Line) -> list[tuple[str, Order, Line, str]]:
    """Chosen or rejected, what it holds, and the sense of the quantity if it is the wrong end."""
    pairs = [(target, orders.of(value, line))]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.IfExp):
        pairs = _by_comparison(target, value, line)
    elif isinstance(target, ast.Tuple):
        pairs = [(one, orders.known.get(name_of(one))) for one in target.elts]
    found = []
    for one, order in pairs:
        role, sense = _role(one), sense_of(order.quantity) if order else ""
        if role and order and order.end and sense:
            is_wrong = (order.end == sense) != (role == "chosen")
            found.append((role, order, line, sense if is_wrong else ""))
    return found


def _by_comparison(target: ast.Tuple, value: ast.IfExp, line: Line) -> list:
    """`chosen, rejected = (a, b) if a.score < b.score else (b, a)`: what the first one is."""
    test, body = value.test, value.body
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(body, ast.Tuple):
        return []
    signs = {ast.Lt: "low", ast.LtE: "low", ast.Gt: "high", ast.GtE: "high"}
    of_left = signs.get(type(test.ops[0]), "")
    left, right = ast.unparse(test.left), ast.unparse(test.comparators[0])
    first = ast.unparse(body.elts[0])
    is_left, is_right = (bool(re.search(rf"(?:^|_){first}(?:\b|$)", one)) for one in (left, right))
    if not of_left or is_left == is_right:
        return []
    end = of_left if is_left else {"low": "high", "high": "low"}[of_left]
    return [(target.elts[0], Order(left, True, line, end))]


def _role(node: ast.AST) -> str:
    text = node.value if isinstance(node, ast.Constant) else name_of(node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        text = node.slice.value
    text = str(text).lower()
    good, bad = _GOOD.search(text), _BAD.search(text)
    return "" if bool(good) == bool(bad) else "chosen" if good else "rejected"


def lost(beside: Beside) -> list[str]:
    """A comparison that the trained model loses."""
    for line in beside.words:
        if not (found := _TESTED.search(line.text)):
            continue
        low = float(found["wins"] or found["rate"])
        if low < (float(found["lost"]) if found["lost"] else HALF):
            return [f"{line.where} says: {found[0]}"]
    return []
