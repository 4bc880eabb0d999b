"""Renames what a folder defines, in all of its files alike; names of libraries stay."""

import builtins
import keyword
from collections.abc import Mapping, Sequence

import libcst as cst

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices
from course_utils.oncall.varying.lexicon import NAMES
from course_utils.oncall.varying.linking import bound_in

# Of libraries too, as attributes; and arguments that TRL gives by name.
FOREIGN = {
    "model", "tokenizer", "split", "state", "config", "train", "size", "update", "step", "score",
    "cfg", "generator", "__init__", "labels", "loss", "logits", "mask_", "export",
}  # fmt: skip
GIVEN = {"completions", "answer", "self", "_", "__init__"}
STAYS = 0.25


def plan(projects: Sequence[trees.Modules], choices: Choices) -> dict[str, str]:
    """The new name of each name that gets one, the same for every version of the folder."""
    modules = [module for one in projects for module in one.values()]
    defined = {name for module in modules for name in _defined(module)}
    # A name that an import binds anywhere stays, whatever else it is.
    stems = {name.removesuffix(".py") for one in projects for name in one}
    foreign = {
        name
        for module in modules
        for name, line in trees.imports(module).items()
        if trees.source_of(line) not in stems
    }
    used = {name for module in modules for name in trees.every_name(module)}
    taken = used | set(keyword.kwlist) | set(dir(builtins)) | stems
    named: dict[str, str] = {}
    attributes = {name for module in modules for name in _attributes(module)}
    for name in sorted(defined - foreign - GIVEN):
        if name in attributes & FOREIGN or choices.chance(STAYS, "stays", name):
            continue
        for other in choices.ordered(NAMES.get(name, ()), "name", name):
            if other not in taken:
                named[name] = other
                taken.add(other)
                break
    return named


def _defined(module: cst.Module) -> set[str]:
    found = bound_in(module) | trees.functions(module).keys()
    return found | {one.name.value for one in trees.found(module, cst.FunctionDef)}


def _attributes(module: cst.Module) -> set[str]:
    """Fields and methods of the classes of a module."""
    found = set()
    for node in trees.found(module, cst.ClassDef):
        found |= {one.name.value for one in trees.found(node, cst.FunctionDef)}
        found |= {
            one.target.value
            for one in trees.found(node, cst.AnnAssign)
            if isinstance(one.target, cst.Name)
        }
    return found


class _Renaming(cst.CSTTransformer):
    def __init__(
        self, names: Mapping[str, str], attributes: set[str], own: set[str], stems
    ) -> None:
        super().__init__()
        self.names, self.own, self.stems = names, own, stems
        self.attributes = attributes - FOREIGN
        self.kept: set[int] = set()

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value not in self.attributes:
            self.kept.add(id(node.attr))

    def visit_Call(self, node: cst.Call) -> None:
        func = node.func
        name = func.value if isinstance(func, cst.Name) else ""
        if isinstance(func, cst.Attribute) and func.attr.value in self.attributes:
            name = func.attr.value
        if name not in self.own:
            self.kept |= {id(arg.keyword) for arg in node.args if arg.keyword}

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        self.kept |= {id(one) for one in trees.found(node.module, cst.Name)}
        return trees.code(node.module) in self.stems

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def leave_Name(self, original_node, updated_node):
        if id(original_node) in self.kept:
            return updated_node
        return cst.Name(
            self.names.get(original_node.value, original_node.value),
            lpar=updated_node.lpar,
            rpar=updated_node.rpar,
        )


def _takes_what_its_base_takes(node: cst.FunctionDef | cst.ClassDef) -> bool:
    """A class whose arguments a library names."""
    is_derived = isinstance(node, cst.ClassDef) and bool(node.bases)
    return is_derived and "__init__" not in {
        one.name.value for one in trees.found(node.body, cst.FunctionDef)
    }


def renamed(modules: trees.Modules, names: Mapping[str, str]) -> trees.Modules:
    """The modules with these names."""
    attributes = {name for module in modules.values() for name in _attributes(module)}
    tops = [pair for module in modules.values() for pair in trees.functions(module).items()]
    own = {name for name, node in tops if not _takes_what_its_base_takes(node)} | attributes
    nested = {n.name.value for one in modules.values() for n in trees.found(one, cst.FunctionDef)}
    stems = {name.removesuffix(".py") for name in modules}
    return {
        name: module.visit(_Renaming(names, attributes, own | nested, stems))
        for name, module in modules.items()
    }
