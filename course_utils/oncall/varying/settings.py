"""config.yaml laid out otherwise: keys, sections, order, how values and remarks are written.

A setting may move into the code as a constant, and a number of the code into config.yaml. What the
code reads stays the same value: a rate that is written for one row is multiplied by a power of two.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst
import libcst.matchers as m
import yaml

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices
from course_utils.oncall.varying.config_text import Setting, written
from course_utils.oncall.varying.setting_words import KEYS, UNREAD

FIXED = {"seed", "model"}
CONFIG = "config.yaml"
LINE = re.compile(r"^(\w+): *(.*?)(?: *# (.*))?$")
# Values that can be others without a change: no row is that long, no ratio differs from 1.
INERT = {
    ("max_length", 64): (32, 36, 40, 48, 50, 56, 64, 72, 80, 96, 100, 120, 128, 160, 192, 256),
    ("epsilon", 0.2): (0.1, 0.15, 0.18, 0.2, 0.22, 0.25, 0.28, 0.3, 0.35),
    ("save_every", 20): (10, 16, 20, 25, 32, 40),
}
MOVES_IN, MOVES_OUT, MOST_OUT = 0.3, 0.4, 4
RATE = "learning_rate"
ROWS = ("batch_size", "mini_batch_size", "num_generations", "micro_batch_size")


@dataclass(frozen=True)
class Layout:
    """All that is decided about the settings of one ticket.

    Attributes:
        keys: the new name of each key that has one.
        constants: keys that become constants of the code, with their names.
        read: keywords of calls whose literal becomes a setting, with its key.
        per: the key of the rows that the rate is written for, or "".
        is_nested: whether config.yaml has sections.
        is_object: whether the code reads `cfg.key`.
    """

    keys: dict[str, str]
    constants: dict[str, str]
    read: dict[str, str]
    per: str
    is_nested: bool
    is_object: bool

    def now(self, key: str) -> str:
        return self.constants.get(key) or self.keys.get(key, key)


def settings_of(text: str) -> dict[str, list[Setting]]:
    """The settings of a config.yaml by the title above them."""
    values, title = yaml.safe_load(text), ""
    grouped: dict[str, list[Setting]] = {}
    for line in text.splitlines():
        if matched := LINE.match(line):
            key, _, remark = matched.groups()
            grouped.setdefault(title, []).append(Setting(key, values[key], remark or ""))
        elif line.startswith("# ") and grouped:
            title = line[2:]
    return grouped


def _reads(module: cst.Module) -> Counter:
    """How often each setting is read."""
    nodes = trees.found(module, cst.Subscript)
    return Counter(key for node in nodes if (key := key_of(node)))


def key_of(node: cst.Subscript) -> str | None:
    """The key of `cfg["key"]`."""
    is_cfg = m.matches(node.value, m.Name("cfg") | m.Attribute(attr=m.Name("cfg")))
    inner = node.slice[0].slice
    is_text = isinstance(inner, cst.Index) and isinstance(inner.value, cst.SimpleString)
    return inner.value.evaluated_value if is_cfg and is_text and len(node.slice) == 1 else None


def shared_keys(versions: Sequence[Mapping[str, str]]) -> list[str]:
    """The keys that every version of the folder has."""
    known = [set(yaml.safe_load(files[CONFIG])) for files in versions]
    return sorted(set.intersection(*known))


def plan(
    configs: Sequence[str],
    projects: Sequence[trees.Modules],
    sizes: Iterable[str],
    choices: Choices,
) -> Layout:
    """The layout that fits all these versions of a folder."""
    known = {key for text in configs for key in yaml.safe_load(text)}
    reads = [sum(map(_reads, modules.values()), Counter()) for modules in projects]
    movable = [
        key
        for key in choices.ordered(known - FIXED - set(sizes) - {RATE}, "out")
        if all(
            key in yaml.safe_load(t) and r[key] == 1 for t, r in zip(configs, reads, strict=True)
        )
        and choices.chance(MOVES_OUT, "out", key)
    ][:MOST_OUT]
    taken = set(known) | {n for p in projects for one in p.values() for n in trees.names_in(one)}
    constants = {}
    for key in movable:
        free = [n for n in (key.upper(), f"DEFAULT_{key.upper()}") if n not in taken]
        if free:
            constants[key] = choices.pick(free, "constant", key)
    keys = {}
    for key in sorted(known - FIXED - set(sizes) - constants.keys()):
        free = [n for n in (key, *KEYS.get(key, ())) if n == key or n not in taken]
        keys[key] = choices.pick(free, "key", key)
        taken.add(keys[key])
    rows = [
        key
        for key in ROWS
        if key not in constants and all(_divides(yaml.safe_load(text), key) for text in configs)
    ]
    per = rows[0] if rows and choices.chance(0.4, "per row") else ""
    return Layout(
        keys,
        constants,
        _read_from(projects, taken, choices),
        per,
        choices.chance(0.6, "nested"),
        choices.chance(0.4, "object"),
    )


def _divides(values: dict, key: str) -> bool:
    rows = values.get(key)
    return isinstance(rows, int) and rows > 1 and rows & (rows - 1) == 0 and RATE in values


def _read_from(
    projects: Sequence[trees.Modules], taken: set[str], choices: Choices
) -> dict[str, str]:
    """Keywords that are given as a literal, once, in a function that has the settings."""
    seen: dict[str, list[int]] = {}
    for number, modules in enumerate(projects):
        for module in modules.values():
            for call in _literal_calls(module):
                counts = seen.setdefault(call.keyword.value, [0] * len(projects))
                counts[number] += 1
    keys = {}
    for word, counts in sorted(seen.items()):
        if max(counts) == 1 and word not in taken and choices.chance(MOVES_IN, "in", word):
            keys[word] = word
    return keys


def _literal_calls(module: cst.Module) -> Iterable[cst.Arg]:
    for function in module.body:
        if isinstance(function, cst.FunctionDef) and "cfg" in _parameters(function):
            for arg in trees.found(function.body, cst.Arg):
                if arg.keyword and isinstance(arg.value, cst.BaseNumber | cst.SimpleString):
                    yield arg


def _parameters(function: cst.FunctionDef) -> set[str]:
    return {param.name.value for param in function.params.params}


class _Reader(cst.CSTTransformer):
    """Reads each setting where it now is; keeps the literals that moved into config.yaml."""

    def __init__(self, layout: Layout, values: dict) -> None:
        super().__init__()
        self.layout, self.values = layout, values
        self.moved: dict[str, object] = {}
        self.used: dict[str, object] = {}
        self.has_cfg = [False]
        self.in_product: set[int] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.has_cfg.append("cfg" in _parameters(node))

    def leave_FunctionDef(self, original_node, updated_node):
        self.has_cfg.pop()
        return updated_node

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        self.in_product |= {id(node.left), id(node.right)}

    def leave_Subscript(self, original_node, updated_node):
        key = key_of(original_node)
        if key is None:
            return updated_node
        if name := self.layout.constants.get(key):
            self.used[name] = self.values[key]
            return cst.Name(name)
        return _access(updated_node.value, self.layout.keys.get(key, key), self.layout)

    def leave_Call(self, original_node, updated_node):
        is_rate = m.matches(original_node, m.Call(func=m.Name("float"), args=[m.Arg()]))
        inner = original_node.args[0].value if is_rate else None
        if not (self.layout.per and isinstance(inner, cst.Subscript) and key_of(inner) == RATE):
            return updated_node
        rows = _access(
            inner.value, self.layout.keys.get(self.layout.per, self.layout.per), self.layout
        )
        product = cst.BinaryOperation(updated_node, cst.Multiply(), rows)
        if id(original_node) in self.in_product:
            return product.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return product

    def leave_Arg(self, original_node, updated_node):
        value = updated_node.value
        if not (updated_node.keyword and self.has_cfg[-1]):
            return updated_node
        key = self.layout.read.get(updated_node.keyword.value)
        if key is None or not isinstance(value, cst.BaseNumber | cst.SimpleString):
            return updated_node
        self.moved[key] = value.evaluated_value
        return updated_node.with_changes(value=_access(cst.Name("cfg"), key, self.layout))


def _access(of: cst.BaseExpression, key: str, layout: Layout) -> cst.BaseExpression:
    said = f"{trees.code(of)}.{key}" if layout.is_object else f'{trees.code(of)}["{key}"]'
    return trees.expression(said)


def applied(
    layout: Layout, config: str, modules: trees.Modules, choices: Choices
) -> tuple[str, trees.Modules]:
    """One version of a folder, laid out so."""
    grouped = settings_of(config)
    values = {one.key: one.value for listed in grouped.values() for one in listed}
    values |= {
        key: choices.pick(INERT[key, value], "inert", key)
        for key, value in values.items()
        if not isinstance(value, list) and (key, value) in INERT
    }
    moved, changed = {}, {}
    for name, module in modules.items():
        reader = _Reader(layout, values)
        changed[name] = _with_constants(module.visit(reader), reader.used)
        moved |= reader.moved
    entries = {
        title: [
            _renamed(one, layout, values, choices)
            for one in listed
            if one.key not in layout.constants
        ]
        for title, listed in grouped.items()
    }
    titles = [title for title in entries if title]
    for key, value in moved.items():
        entries[choices.pick(titles, "to", key)].append(Setting(key, value))
    for key in choices.ordered(UNREAD, "unread")[: 1 + choices.of("unread").randrange(4)]:
        if key not in {*values, *moved, *layout.keys.values()}:
            value = choices.pick(UNREAD[key], "unread", key)
            entries[choices.pick(titles, "to", key)].append(Setting(key, value))
    return written(entries, choices, is_nested=layout.is_nested), changed


def _renamed(one: Setting, layout: Layout, values: dict, choices: Choices) -> Setting:
    value = one.value
    if not isinstance(value, list) and (one.key, value) in INERT:
        value = choices.pick(INERT[one.key, value], "inert", one.key)
    if one.key == RATE and layout.per:
        value = float(value) / values[layout.per]
    return replace(one, key=layout.keys.get(one.key, one.key), value=value)


def _with_constants(module: cst.Module, used: dict[str, object]) -> cst.Module:
    body, place = list(module.body), 0
    for number, node in enumerate(body):
        if isinstance(trees.only(node), cst.Import | cst.ImportFrom):
            place = number + 1
    lines = [
        trees.statement(f"{name} = {_literal(value)}\n") for name, value in sorted(used.items())
    ]
    return module.with_changes(body=[*body[:place], *lines, *body[place:]])


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)
