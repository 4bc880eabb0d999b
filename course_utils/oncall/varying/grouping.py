"""Long calls taken apart: keywords in dictionaries, set one by one, or returned by functions."""

import libcst as cst

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices
from course_utils.oncall.varying.linking import bound_in
from course_utils.oncall.varying.statements import Around

CALLS = {"SFTConfig", "DPOConfig", "RewardConfig", "GRPOConfig", "LoraConfig", "GenerationConfig"}
STAYS, ONE, ITEM, UPDATE, HELPED, OTHER = "stays", "one", "item", "update", "helped", "other"
WAYS = (STAYS, STAYS, ONE, ONE, ITEM, UPDATE, HELPED, HELPED, OTHER)
VARIABLES = ("options", "kwargs", "extra", "shared", "chosen_settings", "rest", "given")
HELPERS = (
    "optim_options", "common_kwargs", "base_options", "from_settings", "training_knobs",
    "numbers_of", "defaults_for", "knobs", "fixed_part", "options_from", "rest_of", "tuning",
)  # fmt: skip  # one for each call and way
FEWEST = 3


class Grouping(cst.CSTTransformer):
    """Takes the long calls of one module apart; the new functions are in `helpers`."""

    def __init__(self, choices: Choices, around: Around) -> None:
        super().__init__()
        self.choices, self.around = choices, around
        self.at: list[cst.FunctionDef] = []
        self.helpers: list[cst.BaseStatement] = []
        self.depth = 0  # of branches: what stands in one is left as it is

    def visit_If(self, node: cst.If) -> None:
        self.depth += 1

    def leave_If(self, original_node, updated_node):
        self.depth -= 1
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.at.append(node)

    def leave_FunctionDef(self, original_node, updated_node):
        self.at.pop()
        return updated_node

    def leave_SimpleStatementLine(self, original_node, updated_node):
        small = trees.only(original_node)
        value = getattr(small, "value", None)
        is_call = isinstance(small, cst.Assign | cst.Return) and isinstance(value, cst.Call)
        name = trees.code(value.func) if is_call else ""
        if not self.at or self.depth or name not in CALLS or len(value.args) < FEWEST:
            return updated_node
        if not all(arg.keyword and trees.is_pure(arg.value) for arg in value.args):
            return updated_node
        if not self.choices.chance(0.8, "grouped", name):
            return updated_node
        return cst.FlattenSentinel(self._apart(updated_node, value, name))

    def _apart(
        self, line: cst.SimpleStatementLine, call: cst.Call, name: str
    ) -> list[cst.BaseStatement]:
        ways: dict[str, list[cst.Arg]] = {}
        local = bound_in(self.at[-1]) - {"cfg"}
        has_cfg = "cfg" in bound_in(self.at[0]) and len(self.at) == 1
        for arg in call.args:
            way = self.choices.pick(WAYS, "way", name, arg.keyword.value)
            is_free = has_cfg and not trees.names_in(arg.value) & local
            if way in (HELPED, OTHER) and not is_free:
                way = ONE
            ways.setdefault(way, []).append(arg)
        variable = self._fresh(VARIABLES, name, "variable")
        lines = [f"{variable} = {self._dict(ways.get(ONE, []), name)}\n"]
        lines += [
            f'{variable}["{a.keyword.value}"] = {trees.code(a.value)}\n' for a in ways.get(ITEM, [])
        ]
        if UPDATE in ways:
            lines.append(trees.listed(f"{variable}.update(", _given(ways[UPDATE]), ")\n"))
        ends = _given(ways.get(STAYS, []))
        for way in (HELPED, OTHER):
            if way in ways:
                helper = self._helper(name, way)
                made = self._dict(ways[way], name, way).replace("\n", "\n    ")
                body = f"    return {made}\n"
                self.helpers.append(trees.statement(f"def {helper}(cfg):\n{body}"))
                ends.append(f"**{helper}(cfg)")
        if len(lines) == 1 and not ways.get(ONE):
            lines = []
        else:
            ends.append(f"**{variable}")
        whole = trees.expression(trees.listed(f"{name}(", ends, ")"))
        small = trees.only(line).with_changes(value=whole)
        made = [*map(trees.statement, lines), line.with_changes(body=[small], leading_lines=[])]
        return [made[0].with_changes(leading_lines=line.leading_lines), *made[1:]]

    def _dict(self, args: list[cst.Arg], *key: str) -> str:
        if self.choices.chance(0.5, "dict", *key):
            return trees.listed("dict(", _given(args), ")")
        pairs = [f'"{arg.keyword.value}": {trees.code(arg.value)}' for arg in args]
        return trees.listed("{", pairs, "}")

    def _helper(self, name: str, way: str) -> str:
        """The function that gives the keywords of one way of a call: each has a name of its own."""
        own = 2 * sorted(CALLS).index(name) + (way == OTHER)
        found = self.choices.ordered(HELPERS, "helpers")[own]
        taken = self.around.globals.union(*self.around.names.values())
        return f"{found}_here" if found in taken else found

    def _fresh(self, wanted: tuple[str, ...], *key: str) -> str:
        taken = self.around.globals.union(*self.around.names.values())
        return next(n for n in self.choices.ordered(wanted, *key) if n not in taken)


def _given(args: list[cst.Arg]) -> list[str]:
    return [f"{arg.keyword.value}={trees.code(arg.value)}" for arg in args]


def grouped(modules: trees.Modules, choices: Choices, around: Around) -> trees.Modules:
    """The modules with their long calls taken apart."""
    made = {}
    for name, module in modules.items():
        visitor = Grouping(choices, around)
        module = module.visit(visitor)
        body, known = list(module.body), set()
        end = next((n for n, one in enumerate(body) if isinstance(one, cst.If)), len(body))
        for helper in visitor.helpers:
            if helper.name.value not in known:
                known.add(helper.name.value)
                body.insert(end, helper)
        made[name] = module.with_changes(body=body)
    return made
