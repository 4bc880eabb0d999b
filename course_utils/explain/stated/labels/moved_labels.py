"""Which names and keys of pasted code hold labels that it has moved one place on."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from course_utils.explain.paste.code import bound, calls, last_number, name_of
from course_utils.explain.paste.entries import Line

_OF_LOGITS = re.compile(r"logit|log_?p|hidden|prob|score|output|\bout\b|pred", re.IGNORECASE)
_OF_IDS = re.compile(
    r"(?:^|_)(?:ids?|inputs?|tokens?|toks?|xs?|seqs?|rows?|data|chunk|buf\w*|lab\w*|ys?|b)(?:$|_)",
    re.IGNORECASE,
)
_KEEPS = {"tensor", "LongTensor", "as_tensor", "from_numpy", "array", "stack", "list", "Tensor"}
_KEEPS |= {"pad_sequence", "astype", "asarray"}
_FILLED = {"cat", "concatenate", "hstack", "pad"}  # to the length from before


@dataclass(frozen=True)
class Move:
    """The line that moved labels; `is_whole`: they are as long as the ids again, or from another
    piece, so that no ids[:-1] need stand beside them."""

    line: Line
    is_whole: bool = False


@dataclass
class Moved:
    names: dict[str, Move] = field(default_factory=dict)
    keys: dict[str, Move] = field(default_factory=dict)
    returned: dict[tuple[int, int], Move] = field(default_factory=dict)  # tuple's size, place
    cut: dict[str, set[str]] = field(default_factory=lambda: {"first": set(), "last": set()})
    ids_cut: bool = False  # ids[:-1] are taken
    logits_cut: bool = False
    again: tuple[Move, Line] | None = None  # a move of what was moved

    def learn(self, statement: ast.stmt, line: Line) -> None:
        if isinstance(statement, ast.FunctionDef):
            self.names.clear()
        for one in ast.walk(statement):
            self._look_at(one, line)
        for target, value in bound(statement):
            self._bind(target, value, line)
        if isinstance(statement, ast.For | ast.AsyncFor):
            self._unpack(statement.target, None)
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Tuple):
            size = len(statement.value.elts)
            for place, one in enumerate(statement.value.elts):
                if move := self.of(one, line):
                    self.returned[size, place] = move

    def _look_at(self, one: ast.AST, line: Line) -> None:
        if isinstance(one, ast.Subscript) and (cut := _cut(one)):
            base = ast.unparse(one.value)
            is_of_logits = bool(_OF_LOGITS.search(base))
            self.logits_cut |= cut == "last" and is_of_logits
            self.cut[cut].add(base)
            is_of_ids = cut == "last" and bool(_OF_IDS.search(_last(one)))
            both = is_of_ids or base in self.cut["first"] & self.cut["last"]
            self.ids_cut |= both and not is_of_logits
            if cut == "first" and (move := self.of(one.value, line)) and move.line != line:
                self.again = self.again or (move, line)
        for key, value in _entries(one):
            if move := self.of(value, line):
                self.keys[key] = move
        is_method = isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
        adds = is_method and one.func.attr in ("append", "extend") and one.args
        if adds and (move := self.of(one.args[0], line)):
            self.names[name_of(one.func.value)] = move

    def _bind(self, target: ast.expr, value: ast.expr, line: Line) -> None:
        move = self.of(value, line)
        if isinstance(target, ast.Tuple):
            self._unpack(target, move)
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            if move:
                self.keys[str(target.slice.value)] = move
        elif isinstance(target, ast.Subscript):  # labels[:-1] = ids[1:]
            if move and _cut(target) == "last":
                self.names[name_of(target.value)] = replace(move, is_whole=True)
        elif name := name_of(target):
            self.names.pop(name, None)
            if move:
                self.names[name] = move

    def _unpack(self, target: ast.expr, move: Move | None) -> None:
        """The names of a tuple get what a function returned in a tuple of this size."""
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        for place, one in enumerate(names):
            if isinstance(one, ast.Tuple):
                self._unpack(one, None)
                continue
            self.names.pop(name_of(one), None)
            if found := self.returned.get((len(names), place)):
                self.names[name_of(one)] = found

    def of(self, node: ast.AST, line: Line) -> Move | None:
        """The move of what an expression holds; None where nothing shows one."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            return self.keys.get(node.attr) or self.of(node.value, line)
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return self.keys.get(node.slice.value)
            is_move = _cut(node) == "first" and not _OF_LOGITS.search(ast.unparse(node.value))
            return Move(line, _is_next(node)) if is_move else self.of(node.value, line)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):  # ids[1:] + [eos]
            move = self.of(node.left, line) if isinstance(node.right, ast.List) else None
            return replace(move, is_whole=True) if move else None
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self.of(node.elt, line)
        return self._of_call(node, line) if isinstance(node, ast.Call) else None

    def _of_call(self, node: ast.Call, line: Line) -> Move | None:
        made, first = name_of(node.func), next(iter(node.args), None)
        if made == "roll":
            shifts = [*node.args[1:2], *(one.value for one in node.keywords if one.arg == "shifts")]
            shifts += node.args[:1] if len(node.args) == 1 else []
            return Move(line, True) if any(last_number(one) == -1 for one in shifts) else None
        if made in ("pop", "get") and isinstance(first, ast.Constant):
            return self.keys.get(str(first.value))
        if made in _FILLED and first is not None and not isinstance(first, ast.ListComp):
            parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
            move = self.of(parts[0], line) if parts else None
            return replace(move, is_whole=True) if move else None
        if made in _KEEPS | _FILLED and first is not None:
            return self.of(first, line)
        return self.of(node.func.value, line) if isinstance(node.func, ast.Attribute) else None


def _cut(node: ast.Subscript) -> str:
    """Whether the first is left out, as in `ids[1:]` and `data[i + 1 : i + n]`, or the last."""
    part = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
    if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 3:
        part = node.slice.elts[1]  # logits[:, :-1, :]
    if not isinstance(part, ast.Slice) or part.step is not None:
        return ""
    if last_number(part.lower) == 1 or _is_next(node):
        return "first"
    return "last" if last_number(part.upper) == -1 and not last_number(part.lower) else ""


def _is_next(node: ast.Subscript) -> bool:
    """Whether it is a piece that begins one place further on: `data[i + 1 : i + 1 + n]`."""
    part, lower = node.slice, getattr(node.slice, "lower", None)
    is_sum = isinstance(lower, ast.BinOp) and isinstance(lower.op, ast.Add)
    return is_sum and last_number(lower.right) == 1 and part.upper is not None


def _last(node: ast.AST) -> str:
    """The last name of what is cut: input_ids of `row["input_ids"][:-1]`."""
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return key if isinstance(key, str) else _last(node.value)
    return name_of(node)


def _entries(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The keys of a dictionary with their values, as `{...}` or `dict(...)`."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), value
    if isinstance(node, ast.Call) and name_of(node.func) in ("dict", "BatchEncoding"):
        yield from ((one.arg, one.value) for one in node.keywords if one.arg)


def given_to_a_model(moved: Moved, statement: ast.stmt, line: Line) -> Move | None:
    """The move of the labels that a call of a model gets by their name, or with a whole batch."""
    for call in calls(statement):
        if not re.search(r"model|student|policy|\b(?:lm|net|engine|llm|gpt)\b", name_of(call.func)):
            continue
        for one in call.keywords:
            if one.arg == "labels" and (move := moved.of(one.value, line)):
                return move
            if one.arg is None and "labels" in moved.keys:
                return moved.keys["labels"]
    return None
