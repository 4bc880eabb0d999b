"""Solution regions: the lines between the two markers, and the stub that replaces them.

The author never writes a stub; it is derived from what the solution defines.
"""

import ast
import re

from course_utils.errors import BadNotebook

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
MARKER_LIKE = re.compile(r"#\s*(BEGIN|END)[\s_-]*SOLUTION", re.IGNORECASE)
IN_BODY = "return TODO  # your code instead of this line"
IN_ASSIGNMENT = "TODO  # your answer instead of TODO"


def split_regions(source: str, where: str) -> list[tuple[bool, list[str]]]:
    """The lines of a cell in order, in groups: (whether inside a region, the lines).

    Raises:
        BadNotebook: a marker is misspelt, nested, stray or never closed.

    >>> split_regions("x = 1\\n### BEGIN SOLUTION\\ny = 2\\n### END SOLUTION", "a cell")
    [(False, ['x = 1']), (True, ['y = 2']), (False, [])]
    """
    groups: list[tuple[bool, list[str]]] = [(False, [])]
    for line in source.splitlines():
        inside, marker = groups[-1][0], line.strip()
        if marker == (END if inside else BEGIN):
            groups.append((not inside, []))
        elif MARKER_LIKE.search(line):
            state = "inside a region" if inside else "outside any region"
            raise _bad(where, f"has the line {marker!r} {state}", why="regions are not nested")
        else:
            groups[-1][1].append(line)
    if groups[-1][0]:
        raise _bad(where, f"has {BEGIN!r} and no {END!r}", why="the region never ends")
    return groups


def has_region(source: str) -> bool:
    return MARKER_LIKE.search(source) is not None


def solved_source(source: str, where: str) -> str:
    """The cell with its solution and without the markers."""
    return "\n".join(line for _, lines in split_regions(source, where) for line in lines)


def stub_source(source: str, where: str) -> str:
    """The cell as the student gets it.

    Raises:
        BadNotebook: a region holds something no stub can be derived from.

    >>> print(stub_source("### BEGIN SOLUTION\\nlimit = 65504\\n### END SOLUTION", "a cell"))
    limit = TODO  # your answer instead of TODO
    """
    lines = []
    for inside, group in split_regions(source, where):
        lines += _stub(group, where) if inside else group
    stub = "\n".join(lines)
    if has_region(source):
        _must_compile(stub, where)
    return stub


def defined_names(source: str) -> set[str]:
    """The functions, classes and variables a cell defines at its top level.

    >>> sorted(defined_names("a, b = 1, 2\\ndef f(): c = 3"))
    ['a', 'b', 'f']
    """
    return {name for node in ast.parse(source).body for name in _names(node)}


def _stub(lines: list[str], where: str) -> list[str]:
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise _bad(where, "has an empty region", why="there is no solution to derive a stub from")
    indent = first[: len(first) - len(first.lstrip())]
    if indent:
        return [f"{indent}{IN_BODY}"]
    try:
        nodes = ast.parse("\n".join(lines)).body
    except SyntaxError as error:
        raise _bad(where, f"has a region that is not Python: {error.msg}", why="") from error
    stub: list[str] = []
    for node in nodes:
        new = _stub_of_node(node, lines, where)
        # A solution may assign a name twice; the second TODO would overwrite the student's answer.
        stub += (
            new if isinstance(node, ast.FunctionDef) else [one for one in new if one not in stub]
        )
    return stub


def _stub_of_node(node: ast.stmt, lines: list[str], where: str) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return _function_stub(node, lines, where)
    names = _names(node)
    if not names or isinstance(node, ast.ClassDef):
        line = lines[node.lineno - 1].strip()
        why = "a stub can be derived from assignments to names and from function definitions"
        raise _bad(where, f"has a region with the line {line!r}", why=why)
    return [f"{name} = {IN_ASSIGNMENT}" for name in names]


def _function_stub(node: ast.FunctionDef, lines: list[str], where: str) -> list[str]:
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    body = node.body[0]
    if body.lineno == node.lineno:
        raise _bad(where, f"has {node.name} on one line", why="its signature has to stay")
    has_docstring = ast.get_docstring(node) is not None
    kept = lines[start : body.end_lineno if has_docstring else body.lineno - 1]
    while kept[-1].strip().startswith("#") or not kept[-1].strip():  # a comment is a solution's
        kept = kept[:-1]
    return [*kept, f"{' ' * body.col_offset}{IN_BODY}"]


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    flat = [item for t in targets for item in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return [item.id for item in flat if isinstance(item, ast.Name)]


def _must_compile(stub: str, where: str) -> None:
    try:
        compile(stub, where, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        saw = f"has a region whose stub does not compile: {error.msg}"
        why = f"an indented region becomes {IN_BODY!r}, so it must end the body of a function"
        raise _bad(where, saw, why=why) from error


def _bad(where: str, saw: str, *, why: str) -> BadNotebook:
    return BadNotebook(
        f"{where} {saw}",
        why=why or "the student's copy is derived from what the solution defines",
        fix=f"put {BEGIN!r} and {END!r} on lines of their own, around a function's body, "
        "assignments or whole functions",
    )
