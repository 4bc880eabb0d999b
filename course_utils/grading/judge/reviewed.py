"""The source of an answer that is judged inside, read by the judge before it is run.

Her code shares a process with the criteria there, so it could reach for the verdict. No right or
wrong answer of the course reaches out of its model, so one that does is not graded by a machine.
This is a review and no wall: what it misses can forge that one verdict, and touch nothing else.
"""

import ast
from collections.abc import Iterator

MODULES = {
    *("collections", "contextlib", "copy", "course_utils", "dataclasses", "functools", "itertools"),
    *("math", "numpy", "operator", "peft", "random", "re", "torch", "transformers", "trl", "types"),
    *("typing", "warnings", "datasets", "accelerate", "IPython", "matplotlib"),
}
# Of the course, what knows how a verdict is made.
DENIED_PARTS = ("checking", "exercises", "grading", "contained", "quiet", "diagnostics.children")
NAMES = {
    *("breakpoint", "compile", "eval", "exec", "globals", "input", "locals", "open", "vars", "dir"),
    *("get_ipython", "memoryview"),
    *("atexit", "builtins", "ctypes", "gc", "importlib", "inspect", "io", "marshal", "modules"),
    *("multiprocessing", "os", "pathlib", "pickle", "posix", "signal", "socket", "struct"),
    *("subprocess", "sys", "sysconfig", "threading", "traceback", "weakref", "json"),
    *("checking", "contained", "cpp_extension", "hub", "serialization", "storage", "jit"),
    *("f_back", "f_builtins", "f_code", "f_globals", "f_locals", "tb_frame", "tb_next"),
    *("gi_code", "gi_frame", "cr_frame", "ag_frame", "func_globals", "user_ns"),
}
UNDERSCORED = {
    *("__init__", "__call__", "__name__", "__class__", "__enter__", "__exit__", "__len__"),
    *("__getitem__", "__iter__", "__next__", "__get__", "__repr__", "__eq__", "__func__"),
    *("__self__", "__post_init__", "__torch_function__", "__doc__", "__version__"),
}
BY_NAME = ("getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller")
MAKES_TEXT = (
    "chr",
    "bytes",
    "bytearray",
    "str",
    "format",
    "join",
    "decode",
    "replace",
    "translate",
)


def reaches_for(sources: list[str]) -> str:
    """The first thing in `sources` that no answer needs; "" where there is none.

    >>> reaches_for(["import torch\\ndef keep(model): model.norm.float()"])
    ''
    >>> reaches_for(["import gc"]), reaches_for(["torch.sys.modules"])
    ('gc', 'modules')
    """
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return "code that is no plain Python"
        if found := next(_found(tree), ""):
            return found
    return ""


def _found(tree: ast.Module) -> Iterator[str]:
    yield from _patches(tree)
    makes_names = any(map(_makes_text, ast.walk(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_denied(alias.name))
        elif isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in whole if node.level or _is_denied(name))
        elif isinstance(node, ast.Attribute) and _is_no_name(node.attr):
            yield node.attr
        elif isinstance(node, ast.Name) and _is_no_name(node.id):
            yield node.id
        elif isinstance(node, ast.Constant) and _is_no_name(node.value):
            yield repr(node.value)
        elif isinstance(node, ast.Call) and makes_names and _asks_by_name(node):
            yield "a name that is put together"


def _patches(tree: ast.Module) -> Iterator[str]:
    """Changes of what is imported: of torch's own functions and classes, which criteria use."""
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
    """The name that an expression begins with; of `type(x)`, that of x."""
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
    return top not in MODULES or any(part in NAMES for part in parts)


def _is_no_name(word: object) -> bool:
    if not isinstance(word, str):
        return False
    return word in NAMES or (word.startswith("__") and word not in UNDERSCORED)


def _makes_text(node: ast.AST) -> bool:
    """Whether a text may be put together here that stands nowhere in the source."""
    if isinstance(node, ast.BinOp):
        return any(_is_text(side) for side in (node.left, node.right))
    if isinstance(node, ast.Subscript):
        return _is_text(node.value)
    function = node.func if isinstance(node, ast.Call) else None
    name = getattr(function, "attr", getattr(function, "id", ""))
    return name in MAKES_TEXT or isinstance(node, ast.JoinedStr)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _asks_by_name(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in BY_NAME and not all(_is_text(argument) for argument in node.args[1:2])
