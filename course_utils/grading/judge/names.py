"""Finds the names that code takes from outside, and those that it leaves behind. Runs nothing."""

import ast

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
# What never changes what it is given.
PURE = {
    *("abs", "all", "any", "bool", "callable", "dict", "display", "enumerate", "float", "help"),
    *("id", "int", "isinstance", "len", "list", "max", "min", "print", "range", "repr", "round"),
    *("set", "sorted", "str", "sum", "tuple", "type", "zip"),
}


class Names(ast.NodeVisitor):
    """Goes through statements in the order in which they run.

    `taken` are names that are read before they are surely bound, `left` those that may be bound at
    the top afterwards. A function's body runs later: what it reads may be bound by then.

    >>> found = names_of("for a in b: c = [d for d in a]\\nprint(d, c)")
    >>> sorted(found.taken), sorted(found.left)
    (['b', 'c', 'd', 'print'], ['a', 'c'])
    """

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.left: set[str] = set()
        self._bound: set[str] = set()  # surely, at this point
        self._later: set[str] = set()

    def of(self, tree: ast.AST) -> "Names":
        self.visit(tree)
        self.taken |= self._later - self._bound
        return self

    @property
    def surely(self) -> set[str]:
        """Names that are bound at the top afterwards, whatever happens."""
        return self._bound

    def _bind(self, *names: str | None) -> None:
        self._bound |= set(filter(None, names))
        self.left |= set(filter(None, names))

    def _branch(self, *nodes: ast.AST) -> set[str]:
        """Visit code that may not run; returns the names that are bound at its end."""
        before = set(self._bound)
        for node in nodes:
            self.visit(node)
        after, self._bound = self._bound, before
        return after

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id)
        elif node.id not in self._bound:
            self.taken.add(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        for part in (node.value, *node.targets):
            self.visit(part)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self.visit_Name(ast.Name(node.target.id, ast.Load()))
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        for part in filter(None, (node.value, node.value and node.target)):
            self.visit(part)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._branch(node.target, *node.body)
        self._branch(*node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._branch(*node.body)
        self._branch(*node.orelse)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._bound = self._branch(*node.body) & self._branch(*node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        self._branch(*node.body, *node.orelse)
        self._branch(*node.handlers)
        for statement in node.finalbody:
            self.visit(statement)

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        for case in node.cases:
            self._branch(case)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self.generic_visit(node)
        self._bind(node.name)

    def visit_alias(self, node: ast.alias) -> None:
        self._bind((node.asname or node.name).partition(".")[0])

    def visit_comprehension_of(self, node: ast.AST) -> None:
        """Visit a scope that runs at once; only `:=` binds outside it."""
        inner = Names()
        for generator in node.generators:
            for part in (generator.iter, generator.target, *generator.ifs):
                inner.visit(part)
        for field in ("key", "value", "elt"):
            if part := getattr(node, field, None):
                inner.visit(part)
        self.taken |= (inner.taken - self._bound) | (inner._later - inner._bound - self._bound)
        for walrus in ast.walk(node):
            if isinstance(walrus, ast.NamedExpr):
                self._bind(walrus.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_of

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        inner = Names()
        for statement in node.body:
            inner.visit(statement)
        self.taken |= inner.taken - self._bound
        self._later |= inner._later
        self._bind(node.name)

    def visit_function(self, node: ast.FunctionDef | ast.Lambda) -> None:
        for part in (*getattr(node, "decorator_list", ()), *_defaults(node.args)):
            self.visit(part)
        inner = Names()
        inner._bound |= {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        body = node.body if isinstance(node.body, list) else [node.body]
        for statement in body:
            inner.visit(statement)
        of_outside = {
            name
            for part in body
            for inside in ast.walk(part)
            if isinstance(inside, (ast.Global, ast.Nonlocal))
            for name in inside.names
        }
        own = (inner.left | inner._bound) - of_outside
        self._later |= (inner.taken | inner._later | of_outside) - own
        self._bind(getattr(node, "name", None))

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_function


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *filter(None, arguments.kw_defaults)]


def names_of(code: str | ast.AST) -> Names:
    """The names of source or of a tree.

    Raises:
        SyntaxError: it is not Python.
    """
    return Names().of(ast.parse(code) if isinstance(code, str) else code)


def changed_names(tree: ast.Module) -> set[str]:
    """Names changed in place: `a.b = c`, `a[b] = c`, `a.append(b)` on a separate line."""
    return {name for node in tree.body for name in _changes(node)} - {"", "ex"}


def _changes(node: ast.stmt) -> set[str]:
    if isinstance(node, DEFINITIONS):
        return set()
    stored = {
        _base(part)
        for part in ast.walk(node)
        if isinstance(part, (ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load)
    }
    calls = {
        _base(part.value.func)
        for part in ast.walk(node)
        if isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Call)
        and isinstance(part.value.func, ast.Attribute)
    }
    return stored | calls


def touched_names(tree: ast.AST) -> set[str]:
    """Names whose value may change: also by `a.pop()` and `fill(a)` anywhere.

    >>> sorted(touched_names(ast.parse("b = a.pop()\\nfill(c, d=e)\\nprint(f)\\ng[0] = 1")))
    ['a', 'c', 'e', 'g']
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            found.add(_base(node))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") not in PURE:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            found |= {_base(one) for one in given if not isinstance(one, ast.Call)}
            found |= {_base(node.func)} if isinstance(node.func, ast.Attribute) else set()
    return found - {"", "ex"}


def asked_answers(tree: ast.Module) -> list[str]:
    """NAME of every `ex.NAME.answer`."""
    return [
        node.value.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "answer"
        and isinstance(node.value, ast.Attribute)
    ]


def _base(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
