"""Expressions written another way, with the same value to the last bit."""

import libcst as cst
import libcst.matchers as m

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices

OF_TENSORS = {
    "exp", "sum", "mean", "std", "clamp", "square", "log_softmax", "softmax", "cumsum", "gather",
    "flatten", "abs",
}  # fmt: skip
BY_DIM = {"sum", "mean", "std", "log_softmax", "softmax", "cumsum", "gather"}
JOINS = {"cat", "stack"}
FLIPPED = {
    cst.LessThan: cst.GreaterThan,
    cst.GreaterThan: cst.LessThan,
    cst.LessThanEqual: cst.GreaterThanEqual,
    cst.GreaterThanEqual: cst.LessThanEqual,
    cst.Equal: cst.Equal,
    cst.NotEqual: cst.NotEqual,
}
NOT = {
    cst.LessThan: cst.GreaterThanEqual,
    cst.GreaterThan: cst.LessThanEqual,
    cst.LessThanEqual: cst.GreaterThan,
    cst.GreaterThanEqual: cst.LessThan,
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
}
OFTEN = 0.45


class Phrases(cst.CSTTransformer):
    """Rewrites expressions of one module."""

    def __init__(self, choices: Choices, *, has_torch: bool) -> None:
        super().__init__()
        self.choices, self.has_torch = choices, has_torch
        self.at: list[str] = [""]
        self.in_formatted = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.at.append(node.name.value)

    def leave_FunctionDef(self, original_node, updated_node):
        self.at.pop()
        return updated_node

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        self.in_formatted += 1

    def _does(self, kind: str, node: cst.CSTNode, share: float = OFTEN) -> bool:
        return (
            len(self.at) > 1
            and not self.in_formatted
            and self.choices.chance(share, kind, self.at[-1], trees.code(node))
        )

    def leave_Call(self, original_node, updated_node):
        func, args = updated_node.func, updated_node.args
        if not isinstance(func, cst.Attribute):
            return updated_node
        name, of = func.attr.value, func.value
        if m.matches(of, m.Name("F")):  # of torch.nn, as scripts import it: no tensor
            return updated_node
        is_torch = m.matches(of, m.Name("torch"))
        if (name in BY_DIM and not is_torch and self._does("dim", original_node)) or (
            name in JOINS and is_torch and len(args) == 2 and self._does("dim", original_node)
        ):
            args = _dim_named(args, first=int(is_torch))
        if (
            name in OF_TENSORS
            and self.has_torch
            and not is_torch
            and self._does("fn", original_node)
        ):
            return cst.Call(trees.expression(f"torch.{name}"), [cst.Arg(_bare(of)), *args])
        return updated_node.with_changes(args=args)

    def leave_Subscript(self, original_node, updated_node):
        said = trees.code(original_node)
        for index, dim in (("[:, None]", 1), ("[..., None]", -1)):
            if said.endswith(index) and self._does("unsqueeze", original_node, 0.6):
                return trees.expression(f"{trees.code(updated_node.value)}.unsqueeze({dim})")
        return updated_node

    def leave_Dict(self, original_node, updated_node):
        elements = updated_node.elements
        keys = [getattr(e, "key", None) for e in elements]
        is_plain = all(
            isinstance(k, cst.SimpleString) and k.evaluated_value.isidentifier() for k in keys
        )
        if not elements or not is_plain or not self._does("dict", original_node):
            return updated_node
        args = [f"{e.key.evaluated_value}={trees.code(e.value)}" for e in elements]
        return trees.expression(trees.listed("dict(", args, ")"))

    def leave_Comparison(self, original_node, updated_node):
        if len(updated_node.comparisons) != 1:
            return updated_node
        [target] = updated_node.comparisons
        other = FLIPPED.get(type(target.operator))
        both = (updated_node.left, target.comparator)
        if isinstance(target.comparator, cst.BaseNumber | cst.SimpleString):
            return updated_node
        if other and all(map(trees.is_pure, both)) and self._does("flip", original_node):
            return updated_node.with_changes(
                left=target.comparator,
                comparisons=[cst.ComparisonTarget(other(), updated_node.left)],
            )
        return updated_node

    def leave_BinaryOperation(self, original_node, updated_node):
        left, right = updated_node.left, updated_node.right
        simple = cst.Name | cst.Attribute | cst.Subscript | cst.BaseNumber | cst.List
        is_product = isinstance(updated_node.operator, cst.Multiply)
        are_simple = all(isinstance(one, simple) and trees.is_pure(one) for one in (left, right))
        if is_product and are_simple and self._does("swap", original_node):
            return updated_node.with_changes(left=right, right=left)
        return updated_node

    def leave_IfExp(self, original_node, updated_node):
        opposite = negated(updated_node.test)
        if opposite is None or not self._does("if", original_node):
            return updated_node
        return updated_node.with_changes(
            test=opposite, body=updated_node.orelse, orelse=updated_node.body
        )

    def leave_FormattedString(self, original_node, updated_node):
        self.in_formatted -= 1
        parts = updated_node.parts
        is_path = (
            len(parts) == 2
            and m.matches(parts[0], m.FormattedStringExpression(expression=m.Name()))
            and isinstance(parts[1], cst.FormattedStringText)
            and parts[1].value.startswith("/")
        )
        if not self._does("f", original_node, 0.6):
            return updated_node
        if is_path:
            name, rest = parts[0].expression.value, parts[1].value
            ways = (
                f'{name} + "{rest}"',
                f'os.path.join({name}, "{rest[1:]}")',
                f'"{{}}{rest}".format({name})',
            )
            return trees.expression(
                self.choices.pick(ways, "f", self.at[-1], trees.code(original_node))
            )
        return _as_format(updated_node) or updated_node

    def leave_Float(self, original_node, updated_node):
        value = float(updated_node.value)
        ways = [
            way
            for way in {f"{value:.0e}", repr(value), f"{value:f}".rstrip("0")}
            if float(way) == value
        ]
        ways = [way if "e" in way or "." in way[:-1] else f"{value}" for way in sorted(ways)]
        return cst.Float(self.choices.pick(ways, "float", self.at[-1], original_node.value))


def _dim_named(args, *, first: int):
    """The arguments with `dim=` at the first that says a dimension."""
    if len(args) <= first or any(arg.keyword and arg.keyword.value == "dim" for arg in args):
        return args
    arg = args[first]
    if arg.keyword or not m.matches(
        arg.value, m.Integer() | m.UnaryOperation(expression=m.Integer())
    ):
        return args
    if any(not later.keyword for later in args[first + 1 :]):  # gather(-1, index)
        return args
    named = arg.with_changes(keyword=cst.Name("dim"), equal=_equal())
    return [*args[:first], named, *args[first + 1 :]]


def _equal() -> cst.AssignEqual:
    none = cst.SimpleWhitespace("")
    return cst.AssignEqual(none, none)


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[], rpar=[]) if node.lpar else node


def negated(test: cst.BaseExpression) -> cst.BaseExpression | None:
    """The opposite of a condition, where it is short."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return test.expression
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        [target] = test.comparisons
        if other := NOT.get(type(target.operator)):
            return test.with_changes(comparisons=[target.with_changes(operator=other())])
        if isinstance(target.operator, cst.Is):
            return test.with_changes(comparisons=[target.with_changes(operator=cst.IsNot())])
        return None
    if isinstance(test, cst.Name | cst.Attribute | cst.Subscript | cst.Call):
        return cst.UnaryOperation(cst.Not(), test)
    return None


def _as_format(node: cst.FormattedString) -> cst.BaseExpression | None:
    """`"{} of {}".format(a, b)`; None where a part is not plain."""
    text, values = "", []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            text += part.value
        elif part.conversion or part.equal:
            return None
        else:
            spec = "".join(
                one.value
                for one in part.format_spec or ()
                if isinstance(one, cst.FormattedStringText)
            )
            text += f"{{:{spec}}}" if spec else "{}"
            values.append(trees.code(part.expression))
    return trees.expression(f"{node.start[1:]}{text}{node.end}.format({', '.join(values)})")


def rephrased(modules: trees.Modules, choices: Choices) -> trees.Modules:
    """The modules with their expressions written another way."""
    return {
        name: module.visit(Phrases(choices, has_torch="torch" in trees.imports(module)))
        for name, module in modules.items()
    }
