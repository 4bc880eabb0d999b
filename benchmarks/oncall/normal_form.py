"""What two ways to write a run have in common: its code as a set of facts, without words and order.

Written for somebody who has seen many tickets and wants to see through their variation: names are
put back by the course's own list, settings and constants stand where they are used, expressions
that mean the same are written the same. Runs nothing.
"""

import ast
import re
from dataclasses import dataclass

import yaml

from course_utils.oncall.declare import Files
from course_utils.oncall.varying.lexicon import NAMES

CANON = {other: name for name, others in NAMES.items() for other in others}
OF_TENSORS = {
    "exp", "sum", "mean", "std", "clamp", "square", "log_softmax", "softmax", "cumsum", "gather",
    "flatten", "abs",
}  # fmt: skip
MANY = 4  # keywords of a call whose line says nothing as a whole
NEVER = re.compile(r"\b(os|sys|torch\.cuda)\.|get_num_threads")  # branches that no run takes
SET = ":="  # a value that is set elsewhere


@dataclass(frozen=True)
class Fact:
    """One thing that a run says.

    Attributes:
        says: in normal form.
        file, line: where it stands.
        about: the call and its keyword, where it is one argument of a call.
    """

    says: str
    file: str
    line: int
    end: int
    about: str = ""


def settings_of(files: Files) -> dict[str, object]:
    """The settings of config.yaml, its sections opened."""
    try:
        read = yaml.safe_load(files["config.yaml"]) or {}
    except yaml.YAMLError:
        return {}
    flat = {key: value for key, value in read.items() if not isinstance(value, dict)}
    for part in read.values():
        flat |= part if isinstance(part, dict) else {}
    return flat


class Normal(ast.NodeTransformer):
    """Writes code in one way of the many."""

    def __init__(
        self,
        settings: dict[str, object],
        constants: dict,
        lines: dict[str, int],
        *,
        is_masked: bool,
    ) -> None:
        self.settings, self.constants, self.lines = settings, constants, lines
        self.is_masked = is_masked

    def _setting(self, key: str) -> ast.expr:
        origin = ("config.yaml", self.lines.get(key, 0)) if self.is_masked else None
        return _from(_constant(self.settings[key]), origin)

    def visit_FunctionDef(self, node):
        node.name = CANON.get(node.name, node.name)
        quiet = [d for d in node.decorator_list if "no_grad" in ast.unparse(d)]
        node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
        self.generic_visit(node)
        if quiet:
            node.decorator_list = [d for d in node.decorator_list if d not in quiet]
            item = ast.withitem(ast.parse("torch.no_grad()", mode="eval").body)
            node.body = [ast.With([item], node.body, lineno=node.lineno)]
        return node

    def visit_arg(self, node):
        node.arg, node.annotation = CANON.get(node.arg, node.arg), None
        return node

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.constants:
            file, value = self.constants[node.id]
            copied = self.visit(ast.parse(ast.unparse(value), mode="eval").body)
            return _from(copied, (file, value.lineno) if self.is_masked else None)
        node.id = CANON.get(node.id, node.id)
        return node

    def visit_Attribute(self, node):
        if (
            isinstance(node.ctx, ast.Load)
            and _is_settings(node.value)
            and node.attr in self.settings
        ):
            return self._setting(node.attr)
        self.generic_visit(node)
        node.attr = CANON.get(node.attr, node.attr)
        return node

    def visit_Subscript(self, node):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.ctx, ast.Load) and _is_settings(node.value) and key in self.settings:
            return self._setting(key)
        self.generic_visit(node)
        said = ast.unparse(node.slice)
        for index, dim in ((":, None", 1), ("(slice(None), None)", 1), ("..., None", -1)):
            if said.strip("()") == index.strip("()"):
                return _call(ast.Attribute(node.value, "unsqueeze", ast.Load()), [_constant(dim)])
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Name) and func.id == "float" and len(node.args) == 1:
            value = _number(node.args[0])
            if value is not None:
                return _from(_constant(float(f"{value:.9g}")), _origin(node.args[0]))
        if isinstance(func, ast.Name) and func.id == "dict" and not node.args:
            keys = [_constant(k.arg) if k.arg else None for k in node.keywords]
            return ast.Dict(keys, [k.value for k in node.keywords])
        if isinstance(func, ast.Attribute):
            is_torch = isinstance(func.value, ast.Name) and func.value.id == "torch"
            if is_torch and func.attr in OF_TENSORS and node.args:
                node.func = func = ast.Attribute(node.args[0], func.attr, ast.Load())
                node.args = node.args[1:]
            for keyword in [k for k in node.keywords if k.arg == "dim"]:
                node.keywords.remove(keyword)
                node.args.append(keyword.value)
            if func.attr == "format" and isinstance(func.value, ast.Constant):
                return _formatted(func.value.value, node.args)
            if ast.unparse(func) == "os.path.join" and len(node.args) == 2:
                return _formatted("{}/" + str(getattr(node.args[1], "value", "")), node.args[:1])
            if func.attr == "float" and not node.args:
                return func.value
            if func.attr == "detach" and not node.args:
                return func.value
        node.keywords.sort(key=lambda k: k.arg or "")
        return node

    def visit_JoinedStr(self, node):
        text, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += part.value
            else:
                spec = part.format_spec.values[0].value if part.format_spec else ""
                text += "{:" + spec + "}" if spec else "{}"
                values.append(self.visit(part.value))
        return _formatted(text, values)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        left, right = _number(node.left), _number(node.right)
        if isinstance(node.op, ast.Mult | ast.Div) and None not in (left, right) and right:
            value = left * right if isinstance(node.op, ast.Mult) else left / right
            return _from(
                _constant(float(f"{value:.9g}")), _origin(node.left) or _origin(node.right)
            )
        if isinstance(node.op, ast.Mult):
            node.left, node.right = sorted((node.left, node.right), key=ast.unparse)
        is_text = isinstance(getattr(node.right, "value", None), str)
        if isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant) and is_text:
            return _formatted("{}" + node.right.value, [node.left])
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        swap = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
        is_plain = len(node.ops) == 1
        if is_plain and type(node.ops[0]) in swap:
            left = node.left
            node.left, node.comparators = node.comparators[0], [left]
            node.ops = [swap[type(node.ops[0])]()]
        elif is_plain and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            both = sorted((node.left, node.comparators[0]), key=ast.unparse)
            node.left, node.comparators = both[0], both[1:]
        return node

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        value = ast.BinOp(load, node.op, node.value)
        return ast.Assign([node.target], value, lineno=node.lineno, end_lineno=node.end_lineno)

    def visit_If(self, node):
        self.generic_visit(node)
        test = node.test
        is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        is_unequal = isinstance(test, ast.Compare) and isinstance(
            test.ops[0], ast.NotEq | ast.IsNot | ast.LtE
        )
        if node.orelse and (is_not or is_unequal):
            node.test, node.body, node.orelse = _opposite(test), node.orelse, node.body
        return node


def _opposite(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp):
        return test.operand
    other = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is}
    if type(test.ops[0]) in other:
        return ast.Compare(test.left, [other[type(test.ops[0])]()], test.comparators)
    return ast.Compare(test.comparators[0], [ast.Lt()], [test.left])


def _from(node: ast.expr, origin: tuple[str, int] | None) -> ast.expr:
    """A constant that knows in which line it is set."""
    if origin and isinstance(node, ast.Constant | ast.List):
        node.origin = origin
    return node


def _origin(node: ast.expr) -> tuple[str, int] | None:
    return getattr(node, "origin", None)


def _is_settings(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return CANON.get(name, name) == "cfg"


def _constant(value: object) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _number(node: ast.expr) -> float | None:
    value = getattr(node, "value", None)
    is_number = isinstance(node, ast.Constant) and isinstance(value, int | float)
    return value if is_number and not isinstance(value, bool) else None


def _call(func: ast.expr, args: list[ast.expr]) -> ast.Call:
    return ast.Call(func, args, [])


def _formatted(text: str, values: list[ast.expr]) -> ast.expr:
    while values and isinstance(values[0], ast.Constant) and "{}" in text:
        text, values = text.replace("{}", str(values[0].value), 1), values[1:]
    if not values:
        return _constant(text)
    return _call(ast.Attribute(_constant(text), "format", ast.Load()), values)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _inlined(body: list[ast.stmt]) -> list[ast.stmt]:
    """Values that are named and used once, in the next lines, stand where they are used."""
    made: list[ast.stmt] = []
    for number, node in enumerate(body):
        for part in ("body", "orelse"):
            if getattr(node, part, None):
                setattr(node, part, _inlined(getattr(node, part)))
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=False)
            made += [_assign([one], value, node) for one, value in pairs]
            continue
        rest = body[number + 1 :]
        if (
            isinstance(target, ast.Name)
            and _uses(rest, target.id) == 1
            and not _stores(rest, target.id)
        ):
            following = next((n for n in rest if _uses([n], target.id)), None)
            if following is not None and not isinstance(
                following, ast.For | ast.While | ast.FunctionDef
            ):
                _Put(target.id, node.value).visit(following)
                following.lineno = getattr(following, "lineno", node.lineno)
                continue
        made.append(node)
    return made


def _assign(targets, value, at: ast.stmt) -> ast.Assign:
    return ast.Assign(targets, value, lineno=at.lineno, end_lineno=at.end_lineno)


def _uses(body: list[ast.stmt], name: str) -> int:
    nodes = [n for one in body for n in ast.walk(one) if isinstance(n, ast.Name)]
    return sum(n.id == name and isinstance(n.ctx, ast.Load) for n in nodes)


def _stores(body: list[ast.stmt], name: str) -> bool:
    nodes = [n for one in body for n in ast.walk(one) if isinstance(n, ast.Name)]
    return any(n.id == name and isinstance(n.ctx, ast.Store) for n in nodes)


class _Put(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node):
        return self.value if node.id == self.name and isinstance(node.ctx, ast.Load) else node


def _loops(body: list[ast.stmt]) -> list[ast.stmt]:
    """`x = []; for ..: x.append(..)` as a comprehension."""
    made: list[ast.stmt] = []
    for node in body:
        for part in ("body", "orelse"):
            if getattr(node, part, None):
                setattr(node, part, _loops(getattr(node, part)))
        before = made[-1] if made else None
        is_list = isinstance(before, ast.Assign) and ast.unparse(before.value) == "[]"
        if isinstance(node, ast.For) and is_list and len(node.body) == 1:
            inner, tests = node.body[0], []
            if isinstance(inner, ast.If) and not inner.orelse and len(inner.body) == 1:
                inner, tests = inner.body[0], [inner.test]
            said = ast.unparse(inner)
            if said.startswith(f"{ast.unparse(before.targets[0])}.append("):
                comp = ast.comprehension(node.target, node.iter, tests, 0)
                before.value = ast.ListComp(inner.value.args[0], [comp])
                before.end_lineno = node.end_lineno
                continue
        made.append(node)
    return made


@dataclass(frozen=True)
class Function:
    """A function or class in normal form.

    Attributes:
        shape: its code without the values that are set elsewhere.
        code: the same with them.
    """

    name: str
    shape: str
    code: str
    file: str
    line: int
    end: int


def read(files: Files, *, is_masked: bool = True) -> tuple[list[Fact], list[Function]]:
    """Every fact of a folder's code, and its functions.

    Args:
        is_masked: whether a value that is set elsewhere is a fact of its own.
    """
    settings, facts, functions = settings_of(files), [], []
    trees = {name: ast.parse(text) for name, text in files.items() if name.endswith(".py")}
    constants = {
        node.targets[0].id: (name, node.value)
        for name, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    lines = {
        found[1]: number
        for number, line in enumerate(files["config.yaml"].splitlines(), start=1)
        if (found := re.match(r"\s*(\w+):", line))
    }
    for name, tree in trees.items():
        normal = Normal(settings, constants, lines, is_masked=is_masked)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                function = normal.visit(node)
                function.body = _inlined(_inlined(_loops(function.body)))
                facts += _facts_in(name, function.body, function.name)
                facts.append(Fact(f"def {function.name}", name, node.lineno, node.lineno))
                functions.append(_function(name, function, node))
    return facts, functions


def _function(file: str, node: ast.stmt, at: ast.stmt) -> Function:
    whole = ast.unparse(node)
    set_elsewhere = [n for n in ast.walk(node) if isinstance(n, ast.Constant) and _origin(n)]
    values = [one.value for one in set_elsewhere]
    for one in set_elsewhere:
        one.value = ...
    shape = ast.unparse(node)
    for one, value in zip(set_elsewhere, values, strict=True):
        one.value = value
    start = min([at.lineno, *(d.lineno for d in at.decorator_list)])
    return Function(node.name, shape, whole, file, start, at.end_lineno)


def _own(node: ast.stmt) -> list[ast.Constant]:
    """The constants of a statement, of its first line where it has a block, of no long call."""
    parts = [getattr(node, name) for name in ("test", "iter") if hasattr(node, name)] or [node]
    if hasattr(node, "items"):
        parts = node.items
    long = {
        id(inner)
        for part in parts
        for call in ast.walk(part)
        if isinstance(call, ast.Call) and len(call.keywords) >= MANY
        for inner in ast.walk(call)
    }
    nodes = [n for part in parts for n in ast.walk(part) if isinstance(n, ast.Constant)]
    return [n for n in nodes if id(n) not in long]


def _pairs(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """Keys and values of a statement, wherever they stand: keywords, dictionaries, items set."""
    pairs = []
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            pairs += [(keyword.arg, keyword.value) for keyword in one.keywords if keyword.arg]
        elif isinstance(one, ast.Dict):
            keys = [getattr(key, "value", None) for key in one.keys]
            pairs += [(k, v) for k, v in zip(keys, one.values, strict=True) if isinstance(k, str)]
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        pairs.append((str(target.slice.value), node.value))
    return pairs


def _facts_in(file: str, body: list[ast.stmt], around: str) -> list[Fact]:
    found = []
    for node in body:
        if isinstance(node, ast.If) and not node.orelse and NEVER.search(ast.unparse(node.test)):
            continue
        inner = [n for part in ("body", "orelse") for n in getattr(node, part, []) or []]
        line, end = node.lineno, getattr(node, "end_lineno", node.lineno) or node.lineno
        if isinstance(node, ast.FunctionDef):
            found += _facts_in(file, node.body, around)
            continue
        for one in [n for n in _own(node) if _origin(n)]:
            value, one.value = getattr(one, "value", None), ...
            said = ast.unparse(node).split("\n")[0] if inner else ast.unparse(node)
            one.value = value
            found.append(Fact(f"{said} := {value!r}", *one.origin, one.origin[1], SET))
        head = ast.unparse(node).split("\n")[0] if inner else ast.unparse(node)
        for key, value in _pairs(node) if not inner else []:
            origins = [o for n in ast.walk(value) if (o := _origin(n))]
            where, at = origins[0] if origins else (file, getattr(value, "lineno", None) or line)
            found.append(Fact(f"{key}={ast.unparse(value)}", where, at, at, f"= {key}"))
        for call in [n for n in ast.walk(node) if isinstance(n, ast.Call)] if not inner else []:
            if len(call.keywords) >= MANY:
                name = ast.unparse(call.func)
                head = head.replace(ast.unparse(call), f"{name}(...)")
        found.append(Fact(re.sub(r"\s+", " ", head), file, line, end))
        found += _facts_in(file, inner, around)
    return found
