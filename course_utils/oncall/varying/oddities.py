"""Harmless lines that look like faults, put where they change nothing.

Bounds that no value of this run reaches, settings of what is switched off, defaults written out,
branches that are never taken, functions that nobody calls.
"""

import re
from collections.abc import Sequence

import libcst as cst

from course_utils.oncall.varying import smoke, trees
from course_utils.oncall.varying.choices import Choices
from course_utils.oncall.varying.dead_code import DEAD
from course_utils.oncall.varying.odd_lines import KEYWORDS, ODD, Odd

FEWEST, MOST = 8, 13
KEYWORDS_EACH = (2, 5)
MODEL = re.compile(r"(?<![\w.])model\b")


class Plan:
    """The oddities of one ticket, the same in every version of its folder."""

    def __init__(
        self, projects: Sequence[trees.Modules], keys: Sequence[str], choices: Choices
    ) -> None:
        self.choices, self.keys = choices, keys
        seen = {
            (number, name, said)
            for modules in projects
            for module in modules.values()
            for name, said in _statements(module)
            for number, odd in enumerate(ODD)
            if re.search(odd.anchor, said)
        }
        wanted = FEWEST + choices.of("how many").randrange(MOST - FEWEST + 1)
        self.at: dict[tuple[str, str], Odd] = {}
        for number, name, said in choices.ordered(sorted(seen), "odd"):
            if len(self.at) < wanted and (name, said) not in self.at:
                self.at[name, said] = ODD[number]
        self.dead = choices.ordered(DEAD, "dead")[: choices.of("dead").randrange(1, 4)]

    def of(self, config: str, modules: trees.Modules) -> tuple[str, trees.Modules]:
        """One version with them."""
        inserter = _Inserter(self)
        made = {}
        for name, module in modules.items():
            module = module.visit(inserter)
            extra = [cst.parse_module(one).body[0] for one in self._dead_in(name, sorted(modules))]
            end = next((n for n, one in enumerate(module.body) if isinstance(one, cst.If)), None)
            body = list(module.body)
            made[name] = module.with_changes(
                body=[*body[:end], *extra, *(body[end:] if end else [])]
            )
        lines = [f"{key}: {value}\n" for key, value in sorted(inserter.settings.items())]
        return config + "".join(lines), made

    def _dead_in(self, name: str, names: Sequence[str]) -> list[str]:
        return [one for one in self.dead if self.choices.pick(names, "dead in", one) == name]


def _statements(module: cst.Module) -> list[tuple[str, str]]:
    """Each simple statement in a function, with the function's name."""
    found = []
    for function in trees.found(module, cst.FunctionDef):
        for line in trees.found(function.body, trees.Line):
            found.append((function.name.value, trees.bare(line).strip()))
    return found


def _needs_model(line: str) -> bool:
    """Whether it uses a name `model` that it does not bind."""
    return bool(MODEL.search(line)) and not line.startswith("model = ")


def _comma(args: Sequence[cst.Arg]) -> cst.Comma:
    """The comma between the first two arguments, with the line's end behind it if it has one."""
    if len(args) > 1 and isinstance(args[0].comma, cst.Comma):
        return args[0].comma
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


class _Inserter(cst.CSTTransformer):
    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan, self.choices = plan, plan.choices
        self.at: list[str] = []
        self.known: list[set[str]] = []  # the names of each function around
        self.settings: dict[str, object] = {}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.at.append(node.name.value)
        self.known.append({one.value for one in trees.found(node, cst.Name)})

    def leave_FunctionDef(self, original_node, updated_node):
        self.at.pop()
        self.known.pop()
        return updated_node

    def leave_SimpleStatementLine(self, original_node, updated_node):
        if not self.at:
            return updated_node
        said = trees.bare(original_node).strip()
        odd = self.plan.at.get((self.at[-1], said)) or self.plan.at.get((self.at[0], said))
        first = smoke.before(original_node, self.choices)
        then = smoke.after(said, self.plan.keys, self.choices)
        if first or then:
            return cst.FlattenSentinel([*first, updated_node, *then])
        if odd is None:
            return updated_node
        matched = re.search(odd.anchor, said, re.DOTALL)
        key = (self.at[-1], said)
        has_model = "model" in self.known[-1]
        lines = [one for one in odd.lines if has_model or not _needs_model(one)]
        if not lines:
            return updated_node
        text = self.choices.pick(lines, "line", *key)
        if "{value}" in text:
            value = self.choices.pick(odd.values, "value", *key)
            has_cfg = any("cfg" in names for names in self.known)
            if odd.key and has_cfg and self.choices.chance(0.5, "as setting", *key):
                self.settings[odd.key] = value
                value = f'cfg["{odd.key}"]'
            text = text.replace("{value}", str(value))
        for number, group in enumerate(matched.groups(), start=1):
            text = text.replace(f"{{{number}}}", group or "")
        lines = list(cst.parse_module(text).body)
        if odd.where == "instead":
            first = lines[0].with_changes(leading_lines=updated_node.leading_lines)
            return cst.FlattenSentinel([first, *lines[1:]])
        if odd.where == "before":
            bare = updated_node.with_changes(leading_lines=[])
            first = lines[0].with_changes(leading_lines=updated_node.leading_lines)
            return cst.FlattenSentinel([first, *lines[1:], bare])
        return cst.FlattenSentinel([updated_node, *lines])

    def leave_Call(self, original_node, updated_node):
        name = trees.code(original_node.func)
        known = KEYWORDS.get(name.split(".")[-1])
        if known is None or not self.at:
            return updated_node
        has = {arg.keyword.value for arg in original_node.args if arg.keyword}
        low, high = KEYWORDS_EACH if len(known) > 8 else (0, 2)
        count = self.choices.of("keywords", name).randint(low, high)
        args = list(updated_node.args)
        for key in self.choices.ordered(known, "keyword", name)[:count]:
            if key in has or key.split("=")[0] in has:
                continue
            value = self.choices.pick(known[key], "keyword value", key)
            arg = cst.parse_expression(f"f({key}={value})").args[0]
            after = self.choices.pick(sorted(has), "after", key)
            place = next(n for n, a in enumerate(args) if a.keyword and a.keyword.value == after)
            comma = args[place].comma  # that of the line, where each argument has one
            args[place : place + 1] = [
                args[place].with_changes(comma=_comma(args)),
                arg.with_changes(comma=comma),
            ]
        return updated_node.with_changes(args=args)
