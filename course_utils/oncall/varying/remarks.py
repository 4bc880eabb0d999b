"""Comments and docstrings: kept, left out or others, some of them out of date."""

import libcst as cst
import libcst.matchers as m

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices
from course_utils.oncall.varying.remark_words import ABOVE, DOCSTRINGS, FILES

KEPT, OTHER = 0.45, 0.25


class Remarks(cst.CSTTransformer):
    """Rewrites what is said in one module; runs last."""

    def __init__(self, choices: Choices, file: str) -> None:
        super().__init__()
        self.choices, self.file = choices, file
        self.at: list[str] = [""]

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.at.append(node.name.value)

    def leave_FunctionDef(self, original_node, updated_node):
        name = self.at.pop()
        body = list(updated_node.body.body)
        if _is_docstring(body[0]):
            if self.choices.chance(1 - KEPT, "docstring", name) and len(body) > 1:
                body = body[1:]
        elif self.choices.chance(OTHER, "docstring", name):
            said = self.choices.pick(DOCSTRINGS, "docstring", name)
            body = [trees.statement(f'"""{said}"""\n'), *body]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))

    def leave_Comment(self, original_node, updated_node):
        return updated_node

    def leave_TrailingWhitespace(self, original_node, updated_node):
        said = original_node.comment and original_node.comment.value
        if said and not self.choices.chance(KEPT, "comment", self.file, said):
            return updated_node.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        return updated_node

    def leave_SimpleStatementLine(self, original_node, updated_node):
        lines = [
            line
            for line in updated_node.leading_lines
            if not line.comment
            or self.choices.chance(KEPT, "comment", self.file, line.comment.value)
        ]
        said = trees.bare(original_node)
        is_long = len(self.at) > 1 and not _is_docstring(original_node)
        if is_long and self.choices.chance(0.07, "above", self.at[-1], said):
            comment = self.choices.pick(ABOVE, "above", self.at[-1], said)
            lines.append(cst.EmptyLine(comment=cst.Comment(f"# {comment}")))
        return updated_node.with_changes(leading_lines=lines)


def _is_docstring(node: cst.BaseStatement) -> bool:
    return m.matches(node, m.SimpleStatementLine([m.Expr(m.SimpleString())]))


def reworded(modules: trees.Modules, choices: Choices) -> trees.Modules:
    """The modules with other comments and docstrings."""
    made = {}
    for name, module in modules.items():
        body = list(module.visit(Remarks(choices, name)).body)
        if body and _is_docstring(body[0]):
            body = body[1:]
        said = choices.pick(("", *FILES), "file", name)
        if said and body:
            body = [trees.statement(f'"""{said}"""\n'), _apart(body[0]), *body[1:]]
        made[name] = module.with_changes(body=body, header=[])
    return made


def _apart(node: cst.BaseStatement) -> cst.BaseStatement:
    kept = [line for line in node.leading_lines if line.comment]
    return node.with_changes(leading_lines=[cst.EmptyLine(indent=False), *kept])
