"""Reviews the source of an answer before it runs in the same process as its criteria.

The student's code could then reach for the verdict. No right or wrong answer of the course
reaches out of its model, so one that does is not graded by a machine.
This is a review, not a wall: code that it misses can forge that one verdict, and nothing else.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from course_utils.grading.judge.syntax_trees import without_timing

MODULES = {
    *("collections", "contextlib", "copy", "course_utils", "dataclasses", "functools", "itertools"),
    *("math", "numpy", "operator", "peft", "random", "re", "torch", "transformers", "trl", "types"),
    *("typing", "warnings", "datasets", "accelerate", "IPython", "matplotlib"),
}
# Of the course, what knows how a verdict is made.
DENIED_PARTS = ("checks", "exercises", "grading", "box", "shown.quiet", "diagnostics.processes")
NAMES = {
    *("breakpoint", "compile", "eval", "exec", "globals", "input", "locals", "open", "vars", "dir"),
    *("get_ipython", "memoryview"),
    *("atexit", "builtins", "ctypes", "gc", "importlib", "inspect", "io", "marshal", "modules"),
    *("multiprocessing", "os", "pathlib", "pickle", "posix", "signal", "socket", "struct"),
    *("subprocess", "sys", "sysconfig", "threading", "traceback", "weakref", "json"),
    *("checking", "containment", "cpp_extension", "hub", "serialization", "storage", "jit"),
    *("f_back", "f_builtins", "f_code", "f_globals", "f_locals", "tb_frame", "tb_next"),
    *("gi_code", "gi_frame", "cr_frame", "ag_frame", "func_globals", "user_ns"),
    *("attrgetter", "methodcaller", "CodeType", "FunctionType", "load_library"),
}
UNDERSCORED = {
    *("__init__", "__call__", "__name__", "__class__", "__enter__", "__exit__", "__len__"),
    *("__getitem__", "__iter__", "__next__", "__get__", "__repr__", "__eq__"),
    *("__post_init__", "__torch_function__", "__doc__", "__version__"),
}
PRIVATE = {"_norm"}  # of a Gemma's norms
METHODS = {"eval", "compile"}  # a model's and torch's, as against the built-in functions
OWN = ("self", "cls")
PARTS = {"named_children", "named_modules", "named_parameters", "named_buffers"}
BY_NAME = ("getattr", "setattr", "hasattr", "delattr")


def reaches_for(sources: list[str]) -> str:
    """The first thing in `sources` that no answer needs; "" if there is none.

    >>> reaches_for(["import re, torch\\nre.compile('x')\\ndef keep(m): m.eval().norm.float()"])
    ''
    >>> reaches_for(["import gc"]), reaches_for(["torch.sys.modules"])
    ('gc', 'modules')
    """
    try:
        trees = [ast.parse(without_timing(source)) for source in sources]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "code that is no plain Python"
    whole = ast.Module([node for tree in trees for node in tree.body], [])
    return next(_found(_Environment().visit(whole)), "")


class _Environment(ast.NodeTransformer):
    """Removes reads of the environment, which is empty of the grader's data in a box.

    >>> reaches_for(["import os", "ranks = int(os.environ.get('WORLD_SIZE', '1'))"])
    ''
    >>> reaches_for(["import os", "os.environ['A'] = 'b'"]), reaches_for(["import os as o"])
    ('os', 'os')
    """

    READS = ("os.environ.get", "os.getenv", "os.environ")

    def visit_Import(self, node: ast.Import) -> ast.AST:
        is_plain = [alias.name for alias in node.names] == ["os"] and not node.names[0].asname
        return ast.Pass() if is_plain else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) in self.READS:
            node.func = ast.Name("dict", ast.Load())
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and ast.unparse(node.value) in self.READS:
            node.value = ast.Name("dict", ast.Load())
        return self.generic_visit(node)


def _found(tree: ast.Module) -> Iterator[str]:
    yield from _patches(tree)
    yield from _asked_by_name(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_denied(alias.name))
        elif isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in whole if node.level or _is_denied(name))
        elif isinstance(node, ast.Attribute) and _is_forbidden_attribute(node):
            yield node.attr
        elif isinstance(node, ast.MatchClass):
            yield from filter(_is_hidden, node.kwd_attrs)
        elif isinstance(node, ast.Name) and _is_forbidden_name(node.id):
            yield node.id
        elif isinstance(node, ast.Constant) and _is_forbidden_name(node.value):
            yield repr(node.value)


def _patches(tree: ast.Module) -> Iterator[str]:
    """Changes of imported objects: torch's own functions and classes, which criteria use."""
    foreign = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _root(node.value) in foreign:
            is_alias = not any(isinstance(part, ast.Call) for part in ast.walk(node.value))
            foreign |= {t.id for t in node.targets if isinstance(t, ast.Name) and is_alias}
    for node in ast.walk(tree):
        is_place = isinstance(node, ast.Attribute | ast.Subscript)
        if is_place and not isinstance(node.ctx, ast.Load) and _root(node) in foreign:
            yield f"a change of {_root(node)}"
        is_call = isinstance(node, ast.Call) and node.args
        by_name = is_call and getattr(node.func, "id", "") in ("setattr", "delattr")
        if by_name and _root(node.args[0]) in foreign:
            yield f"a change of {_root(node.args[0])}"


def _root(node: ast.AST) -> str:
    """The name that an expression begins with; of `type(x)`, the name of x."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call):
            is_type = getattr(node.func, "id", "") == "type" and node.args
            node = node.args[0] if is_type else node.func
        else:
            return ""
    return node.id


def _is_denied(module: str) -> bool:
    top, *parts = module.split(".")
    below = ".".join(parts)
    if top == "course_utils" and below.startswith(DENIED_PARTS):
        return True
    return top not in MODULES or any(map(_is_hidden, parts))


def _is_forbidden_name(word: object) -> bool:
    if not isinstance(word, str):
        return False
    return word in NAMES or (word.startswith("__") and word not in UNDERSCORED)


def _is_hidden(name: str) -> bool:
    return name.startswith("_") or name in (*NAMES, *BY_NAME)


def _is_forbidden_attribute(node: ast.Attribute) -> bool:
    """Whether no answer needs this attribute; private ones are allowed on its own objects."""
    name = node.attr
    if name in METHODS:
        return False
    if name.startswith("__") or name.lstrip("_") in NAMES or not name.startswith("_"):
        return _is_forbidden_name(name) or name.lstrip("_") in (*NAMES, *BY_NAME)
    return name not in PRIVATE and getattr(node.value, "id", "") not in OWN


def _asked_by_name(tree: ast.Module) -> Iterator[str]:
    """Uses of `getattr` with a name that is not in the source, or under another name.

    To set a name, or to ask for it, shows nothing.
    """
    names = _listed_names(tree)
    called = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in BY_NAME:
            called.add(node.func)
            is_told = len(node.args) > 1 and _stands_there(node.args[1], names)
            if node.func.id == "getattr" and not is_told:
                yield "a name that is put together"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in BY_NAME and node not in called:
            yield f"{node.id} by another name"
        elif _is_stored(node) and node.id in OWN:
            yield f"another {node.id}"


def _listed_names(tree: ast.Module) -> set[str]:
    """Variables that only take texts written out: `for name in ("a", "b")`."""
    stored = Counter(node.id for node in ast.walk(tree) if _is_stored(node))
    stored.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    lists = {
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_stored(node.targets[0]) and _lists_texts(node.value)
    }
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.comprehension)]
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    through = Counter()
    for loop in loops:
        target, over = loop.target, loop.iter
        if isinstance(target, ast.Tuple) and _goes_through_parts(over, own):
            target = target.elts[0]
        elif not _lists_texts(over) and getattr(over, "id", "") not in lists:
            continue
        through.update([target.id] if _is_stored(target) else [])
    is_list_once = all(stored[name] == 1 for name in lists)
    return {name for name, count in through.items() if stored[name] == count and is_list_once}


def _goes_through_parts(node: ast.expr, own: set[str]) -> bool:
    """Whether it is an iteration over a model's names, as in `model.named_children()`."""
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in PARTS - own


def _lists_texts(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and all(map(_is_text, node.elts))


def _stands_there(node: ast.expr, names: set[str]) -> bool:
    """Whether a name is written out, enough of it to exclude the forbidden ones."""
    if isinstance(node, ast.JoinedStr) and node.values and _is_text(node.values[0]):
        begin = node.values[0].value
        return not begin.startswith("_") and not any(name.startswith(begin) for name in NAMES)
    if isinstance(node, ast.Name):
        return node.id in names
    return _is_text(node) and not _is_hidden(node.value)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
