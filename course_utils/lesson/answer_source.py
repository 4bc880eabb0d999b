"""The source of a passed answer: extracted from the cells, and executed again after a restart.

A plain value is kept as it is. Of anything else, takes the statement that defines it and the
imports, functions, classes and plain values it needs. Never takes a statement above it that runs
anything, such as a training run.
"""

import ast
import linecache
import symtable
from collections.abc import Iterator

from IPython import get_ipython

KEPT = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def source_of(name: str, answer: object) -> str | None:
    """Source that defines `answer` again, from the cells run so far; None where there is none.

    Args:
        name: what the exercise calls it. A function is looked up by its own name.

    >>> source_of("fix", {"optim": "sgd"})
    "fix = {'optim': 'sgd'}"
    """
    if is_literal(answer):
        return f"{name} = {answer!r}"
    shell = get_ipython()
    if shell is None:
        return None
    own_name = getattr(answer, "__name__", name)
    for wanted in dict.fromkeys((name, own_name)):
        if shell.user_ns.get(wanted) is answer:
            statements = _needed(wanted, shell.user_ns.get("In", []))
            if statements:
                alias = "" if wanted == name else f"\n{name} = {wanted}"
                return "\n\n".join(statements) + alias
    return None


def is_literal(value: object) -> bool:
    try:
        return ast.literal_eval(repr(value)) == value
    except (ValueError, SyntaxError):
        return False


def made_again(source: str, name: str, label: str) -> object:
    """The value of `name` after `source` ran in a copy of the notebook's names.

    Raises:
        Exception: whatever the source raises, a NameError for what an earlier cell defines.
    """
    shell = get_ipython()
    namespace = dict(shell.user_ns) if shell else {"__name__": "__main__"}
    filename = f"<kept answer of {label}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]


def _needed(name: str, cells: list[str]) -> list[str]:
    """The statements that `name` depends on, in the order in which they ran."""
    known = list(_statements(cells))
    found = {at: text for at, (node, text) in enumerate(known) if "*" in _binds(node)}
    wanted, seen = [name], set()
    while wanted:
        current = wanted.pop()
        seen.add(current)
        for at, (node, text) in reversed(list(enumerate(known))):
            if current in _binds(node):
                if at not in found and (current == name or _is_plain(node)):
                    found[at] = text
                    wanted += _global_names(node) - seen
                break
    stars = {at for at, (node, _) in enumerate(known) if "*" in _binds(node)}
    return [found[at] for at in sorted(found)] if found.keys() - stars else []


def _statements(cells: list[str]) -> Iterator[tuple[ast.stmt, str]]:
    for cell in cells:
        try:
            tree = ast.parse(cell)
        except SyntaxError:  # a magic, or an answer half typed
            continue
        for node in tree.body:
            yield node, ast.unparse(node) if isinstance(node, KEPT[2:]) else _text(cell, node)


def _text(cell: str, node: ast.stmt) -> str:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return "\n".join(cell.splitlines()[first - 1 : node.end_lineno])


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, KEPT[:2]):
        return {node.name}
    if isinstance(node, KEPT[2:]):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        stored = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        return {n.id for n in stored if isinstance(n.ctx, ast.Store)}
    return set()


def _global_names(node: ast.stmt) -> set[str]:
    """What a statement of the notebook reads from it: no local variable, no argument.

    >>> _global_names(ast.parse("def f(x): rest = x + limit; return rest").body[0])
    {'limit'}
    """
    module = symtable.symtable(ast.unparse(node), "<cell>", "exec")
    names = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_referenced()}
    inner = module.get_children()
    while inner:
        table = inner.pop()
        names |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        inner += table.get_children()
    return names


def _is_plain(node: ast.stmt) -> bool:
    """Whether running it again is cheap and harmless: a definition, or a value without calls."""
    return isinstance(node, KEPT) or not any(isinstance(n, ast.Call) for n in ast.walk(node))
