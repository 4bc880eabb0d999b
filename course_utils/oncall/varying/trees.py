"""Questions about syntax trees of libcst, and the small pieces that rewritings are made of."""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

import libcst as cst
import libcst.matchers as m

Modules = dict[str, cst.Module]
Line = cst.SimpleStatementLine
EMPTY = cst.Module([])
DEF = (cst.FunctionDef, cst.ClassDef)
OF_LAYOUT = {
    "lpar",
    "rpar",
    "comma",
    "semicolon",
    "header",
    "footer",
    "indent",
    "equal",
    "lines_after_decorators",
}
WIDTH = 80  # of an expression on one line
PURE_CALLS = {"float", "int", "len", "str", "bool"}


def parsed(files: Mapping[str, str]) -> Modules:
    """The Python files as trees."""
    return {name: _module(text) for name, text in files.items() if name.endswith(".py")}


# Trees never change, so that what is known of one is kept; versions of a folder share most.
@lru_cache(maxsize=64)
def _module(text: str) -> cst.Module:
    return cst.parse_module(text)


def code(node: cst.CSTNode) -> str:
    """The source of a node."""
    return EMPTY.code_for_node(node)


def bare(node: cst.CSTNode) -> str:
    """The source of a statement without the comments and empty lines above it."""
    return (
        code(node.with_changes(leading_lines=[])) if hasattr(node, "leading_lines") else code(node)
    )


def listed(start: str, items: list[str], end: str) -> str:
    """Items in brackets, one a line where they are long."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH or not items:
        return line
    return "\n".join([start, *(f"    {item}," for item in items), end])


def expression(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def statement(text: str) -> cst.BaseStatement:
    return cst.parse_statement(text)


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a kind of node that hold what is said; those of its layout are left out."""
    names = (field.name for field in dataclasses.fields(kind))
    return tuple(
        n for n in names if not n.startswith(("whitespace", "leading_")) and n not in OF_LAYOUT
    )


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes below, without layout: `node.children` of libcst copies all of them first."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, list | tuple):
            yield from (one for one in value if isinstance(one, cst.CSTNode))


def found(node: cst.CSTNode, kind: type | tuple) -> Iterator[cst.CSTNode]:
    """Every node of that kind, the node itself included, outermost first."""
    if isinstance(node, kind):
        yield node
    for child in children(node):
        yield from found(child, kind)


@lru_cache(maxsize=4096)
def names_in(node: cst.CSTNode) -> frozenset[str]:
    """Every identifier that stands alone: no attribute, no keyword of a call."""
    if isinstance(node, cst.Name):
        return frozenset({node.value})
    if isinstance(node, cst.Attribute):
        return names_in(node.value)
    parts = [
        one for one in children(node) if not (isinstance(node, cst.Arg) and one is node.keyword)
    ]
    return frozenset().union(*map(names_in, parts))


@lru_cache(maxsize=512)
def every_name(node: cst.CSTNode) -> set[str]:
    return {one.value for one in found(node, cst.Name)}


def only(node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """The one small statement of a line, or None."""
    return node.body[0] if isinstance(node, Line) and len(node.body) == 1 else None


def assigned(node: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
    """Name and value of a line `name = value`."""
    small = only(node)
    if m.matches(small, m.Assign(targets=[m.AssignTarget(target=m.Name())])):
        return small.targets[0].target.value, small.value
    return None


def returned(node: cst.CSTNode) -> cst.BaseExpression | None:
    small = only(node)
    return small.value if isinstance(small, cst.Return) else None


def is_pure(node: cst.BaseExpression) -> bool:
    """Whether evaluating it earlier, later or not at all changes nothing."""
    if isinstance(node, cst.Call):
        is_known = isinstance(node.func, cst.Name) and node.func.value in PURE_CALLS
        return is_known and all(not arg.star and is_pure(arg.value) for arg in node.args)
    if isinstance(node, cst.Lambda | cst.FormattedString | cst.BaseComp):
        return isinstance(node, cst.Lambda) or (
            isinstance(node, cst.FormattedString)
            and all(is_pure(p.expression) for p in found(node, cst.FormattedStringExpression))
        )
    if isinstance(node, cst.Await | cst.Yield | cst.NamedExpr | cst.IfExp):
        return False
    inner = [child for child in children(node) if isinstance(child, cst.BaseExpression)]
    inner += [e.value for e in children(node) if isinstance(e, cst.BaseElement)]
    if isinstance(node, cst.Dict):
        inner += [e.key for e in node.elements if isinstance(e, cst.DictElement)]
    if isinstance(node, cst.Subscript):
        inner += list(found_expressions(node.slice))
    return all(map(is_pure, inner))


def found_expressions(slices: tuple[cst.SubscriptElement, ...]) -> Iterator[cst.BaseExpression]:
    for element in slices:
        for child in element.slice.children:
            if isinstance(child, cst.BaseExpression):
                yield child


def functions(module: cst.Module) -> dict[str, cst.FunctionDef | cst.ClassDef]:
    """The functions and classes at the top of a module, by name."""
    return {node.name.value: node for node in module.body if isinstance(node, DEF)}


def constants(module: cst.Module) -> dict[str, Line]:
    """The assignments at the top of a module, by name."""
    pairs = ((assigned(node), node) for node in module.body)
    return {pair[0]: node for pair, node in pairs if pair}


@lru_cache(maxsize=512)
def imports(module: cst.Module) -> dict[str, Line]:
    """The import that binds each name, as a statement of its own."""
    bound: dict[str, Line] = {}
    for node in module.body:
        small = only(node)
        if not isinstance(small, cst.Import | cst.ImportFrom) or isinstance(
            small.names, cst.ImportStar
        ):
            continue
        for alias in small.names:
            own = alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)
            name = alias.asname.name if alias.asname else alias.name
            kept = small.with_changes(names=[own])
            if isinstance(small, cst.ImportFrom):
                kept = kept.with_changes(lpar=None, rpar=None)
            bound[code(name).split(".")[0]] = Line([kept])
    return bound


def source_of(line: Line) -> str:
    """The module that an import takes from."""
    small = only(line)
    node = small.module if isinstance(small, cst.ImportFrom) else small.names[0].name
    return code(node)


class Renamer(cst.CSTTransformer):
    """Replaces identifiers that stand alone, for substitution within one expression."""

    def __init__(self, values: Mapping[str, cst.BaseExpression]) -> None:
        super().__init__()
        self.values = values

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        self.skip = node.attr

    def leave_Attribute(self, original_node, updated_node):
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node, updated_node):
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node, updated_node):
        return self.values.get(original_node.value, updated_node)


def substituted(node: cst.CSTNode, values: Mapping[str, cst.BaseExpression]) -> cst.CSTNode:
    return node.visit(Renamer(values))
