"""Statements written another way: values named before they are used, loops, branches."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices
from course_utils.oncall.varying.phrases import negated

Body = Sequence[cst.BaseStatement]
RESULTS = ("result", "made", "outcome", "ready", "value_made", "final", "built", "ret")
LISTS = ("collected", "acc", "kept_rows", "bag", "rows_out", "pile")


class Around:
    """The names of every version of a folder.

    Attributes:
        names: by function, all that stand in it.
        bound: by function, how often each name is given a value there.
        globals: names at the top of the files, and of imports.
    """

    def __init__(self, projects: Sequence[trees.Modules]) -> None:
        self.names: dict[str, set[str]] = defaultdict(set)
        self.bound: dict[str, Counter] = defaultdict(Counter)
        self.globals: set[str] = set()
        for module in (module for one in projects for module in one.values()):
            self.globals |= {*trees.functions(module), *trees.constants(module)}
            self.globals |= trees.imports(module).keys()
            for node in trees.found(module, cst.FunctionDef):
                self.names[node.name.value] |= trees.names_in(node)
                self.bound[node.name.value] |= _bindings(node)


def _bindings(node: cst.FunctionDef) -> Counter:
    kinds = cst.AssignTarget | cst.CompFor | cst.For
    targets = [one.target for one in trees.found(node, kinds)]
    targets += [one.name for one in trees.found(node, cst.Param)]
    return Counter(name for one in targets for name in trees.every_name(one))


class Statements(cst.CSTTransformer):
    """Rewrites the blocks of one module."""

    def __init__(self, choices: Choices, around: Around) -> None:
        super().__init__()
        self.choices, self.around = choices, around
        self.at: list[str] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.at.append(node.name.value)

    def leave_FunctionDef(self, original_node, updated_node):
        self.at.pop()
        return _with_for_decorator(updated_node, self.choices)

    def leave_IndentedBlock(self, original_node, updated_node):
        if not self.at:
            return updated_node
        body: list[cst.BaseStatement] = []
        for node in updated_node.body:
            body += self._rewritten(node)
        body = self._pairs(body)
        return updated_node.with_changes(body=body)

    def _does(self, kind: str, node: cst.CSTNode, share: float = 0.4) -> bool:
        return self.choices.chance(share, kind, self.at[-1], trees.bare(node))

    def _is_free(self, name: str) -> bool:
        inside = any(name in self.around.names[at] for at in self.at)
        return not inside and name not in self.around.globals

    def _fresh(self, wanted: Sequence[str], node: cst.CSTNode) -> str | None:
        free = [name for name in wanted if self._is_free(name)]
        return self.choices.pick(free, "fresh", self.at[-1], trees.bare(node)) if free else None

    def _rewritten(self, node: cst.BaseStatement) -> Body:
        if isinstance(node, cst.If):
            return [self._branch(node)]
        if not trees.only(node):
            return [node]
        made = self._loop(node) or self._split(node) or self._steps(node) or self._named_first(node)
        lines = made or [node]
        last = trees.returned(lines[-1])
        is_named = isinstance(last, cst.Call) and self._does("name result", node, 0.35)
        if is_named and (name := self._fresh(RESULTS, node)):
            end = _like(lines[-1], f"{name} = {trees.code(last)}\n")
            lines = [*lines[:-1], end, trees.statement(f"return {name}\n")]
        if lines is not made and lines[0] is node:
            return [self._augmented(node)]
        return lines

    def _branch(self, node: cst.If) -> cst.If:
        opposite = negated(node.test)
        is_plain = isinstance(node.orelse, cst.Else) and isinstance(node.body, cst.IndentedBlock)
        if not (is_plain and opposite is not None and self._does("branch", node)):
            return node
        return node.with_changes(
            test=opposite, body=node.orelse.body, orelse=node.orelse.with_changes(body=node.body)
        )

    def _augmented(self, node: cst.BaseStatement) -> cst.BaseStatement:
        small = trees.only(node)
        is_count = m.matches(
            small, m.AugAssign(target=m.Name(), operator=m.AddAssign(), value=m.Integer())
        )
        if is_count and self._does("count", node, 0.5):
            name = small.target.value
            return _like(node, f"{name} = {name} + {small.value.value}\n")
        return node

    def _loop(self, node: cst.BaseStatement) -> Body | None:
        """`x = [f(y) for y in z]` as a loop."""
        pair = trees.assigned(node)
        value = pair[1] if pair else trees.returned(node)
        if not isinstance(value, cst.ListComp) or value.for_in.inner_for_in:
            return None
        variables = trees.every_name(value.for_in.target)
        if any(self.around.bound[self.at[-1]][variable] > 1 for variable in variables):
            return None  # a loop would leave its value behind
        if not self._does("loop", node, 0.5):
            return None
        name = pair[0] if pair else self._fresh(LISTS, node)
        if name is None or name in trees.names_in(value):
            return None
        inner = f"{name}.append({trees.code(value.elt)})\n"
        for test in value.for_in.ifs:
            inner = f"if {trees.code(test.test)}:\n        {inner}"
        if len(value.for_in.ifs) > 1:
            return None
        head = f"for {trees.code(value.for_in.target)} in {trees.code(value.for_in.iter)}:\n    "
        lines = [_like(node, f"{name} = []\n"), trees.statement(head + inner)]
        return lines if pair else [*lines, trees.statement(f"return {name}\n")]

    def _split(self, node: cst.BaseStatement) -> Body | None:
        """`a, b = c, d` as two lines."""
        small = trees.only(node)
        is_pair = m.matches(
            small, m.Assign(targets=[m.AssignTarget(target=m.Tuple())], value=m.Tuple())
        )
        if not is_pair or not self._does("split", node, 0.5):
            return None
        targets = [trees.code(e.value) for e in small.targets[0].target.elements]
        values = [e.value for e in small.value.elements]
        read = {name for value in values for name in trees.every_name(value)}
        if len(targets) != len(values) or read & {t.split(".")[-1] for t in targets}:
            return None
        texts = [f"{t} = {trees.code(v)}\n" for t, v in zip(targets, values, strict=True)]
        return [_like(node, texts[0]), *map(trees.statement, texts[1:])]

    def _steps(self, node: cst.BaseStatement) -> Body | None:
        """`x = f().g()` in two steps."""
        pair = trees.assigned(node)
        value = pair[1] if pair else trees.returned(node)
        is_chain = m.matches(value, m.Call(func=m.Attribute(value=m.Call())))
        if not is_chain or not all(trees.is_pure(a.value) for a in value.args):
            return None
        if not self._does("steps", node):
            return None
        name = pair[0] if pair else self._fresh(RESULTS, node)
        if name is None or (pair and name in trees.names_in(value)):
            return None
        inner = value.func.value
        then = value.with_changes(func=value.func.with_changes(value=cst.Name(name)))
        start = f"{name} = " if pair else "return "
        first = _like(node, f"{name} = {trees.code(inner)}\n")
        return [first, trees.statement(f"{start}{trees.code(then)}\n")]

    def _named_first(self, node: cst.BaseStatement) -> Body | None:
        """Arguments that are calls get names before the call."""
        pair = trees.assigned(node)
        value = pair[1] if pair else trees.returned(node)
        is_call = isinstance(value, cst.Call) and isinstance(value.func, cst.Name | cst.Attribute)
        if not is_call or not trees.is_pure(value.func) or any(arg.star for arg in value.args):
            return None
        moved = [a for a in value.args if not trees.is_pure(a.value)]
        if not moved or not all(a.keyword for a in moved) or not self._does("first", node, 0.5):
            return None
        lines, args = [], {}
        for arg in moved:
            word = arg.keyword.value
            name = word if self._is_free(word) else self._fresh((f"{word}_", f"the_{word}"), arg)
            if name is None or name in {line.split(" = ")[0] for line in lines}:
                return None
            lines.append(f"{name} = {trees.code(arg.value)}\n")
            args[id(arg)] = arg.with_changes(value=cst.Name(name))
        call = value.with_changes(args=[args.get(id(arg), arg) for arg in value.args])
        start = f"{pair[0]} = " if pair else "return "
        made = [*map(trees.statement, lines), trees.statement(f"{start}{trees.code(call)}\n")]
        return [_like(node, lines[0]), *made[1:]]

    def _pairs(self, body: Body) -> Body:
        """Two lines as one, or a branch with what follows it."""
        made: list[cst.BaseStatement] = []
        for node in body:
            value = trees.returned(node)
            before = trees.assigned(made[-1]) if made else None
            is_its = before and isinstance(value, cst.Name) and value.value == before[0]
            if is_its and self._does("join", made[-1], 0.4):
                made[-1] = _like(made[-1], f"return {trees.code(before[1])}\n")
            else:
                made.append(node)
        is_end = len(made) >= 2 and _leaves(made[-2]) and trees.returned(made[-1]) is not None
        if is_end and self._does("else", made[-2].with_changes(leading_lines=[]), 0.5):
            end = made.pop()
            made[-1] = made[-1].with_changes(orelse=cst.Else(cst.IndentedBlock([end])))
        return made


def _leaves(node: cst.BaseStatement) -> bool:
    """Whether it is an `if` without `else` that returns."""
    return (
        isinstance(node, cst.If)
        and node.orelse is None
        and isinstance(node.body, cst.IndentedBlock)
        and trees.returned(node.body.body[-1]) is not None
    )


def _like(node: cst.BaseStatement, text: str) -> cst.BaseStatement:
    """A statement with the comments of another above it."""
    return trees.statement(text).with_changes(leading_lines=node.leading_lines)


def _with_for_decorator(node: cst.FunctionDef, choices: Choices) -> cst.FunctionDef:
    """`@torch.no_grad()` as a `with` inside."""
    is_quiet = (
        len(node.decorators) == 1 and trees.code(node.decorators[0].decorator) == "torch.no_grad()"
    )
    if not is_quiet or not choices.chance(0.5, "no_grad", node.name.value):
        return node
    body = list(node.body.body)
    said = body[:1] if m.matches(body[0], m.SimpleStatementLine([m.Expr(m.SimpleString())])) else []
    item = cst.WithItem(trees.expression("torch.no_grad()"))
    whole = cst.With([item], cst.IndentedBlock(body[len(said) :]))
    return node.with_changes(decorators=[], body=node.body.with_changes(body=[*said, whole]))


def rewritten(modules: trees.Modules, choices: Choices, around: Around) -> trees.Modules:
    """The modules with their statements written another way."""
    return {name: module.visit(Statements(choices, around)) for name, module in modules.items()}
