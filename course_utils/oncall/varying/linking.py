"""Which file holds which function: moves them, orders them, and writes every import anew."""

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache

import libcst as cst
import libcst.matchers as m

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices

MAIN = "train.py"
# Names of files that no package of the course has.
OTHER_FILES = {
    "data.py": ("rows.py", "chats.py", "prep.py", "examples.py", "batching.py", "inputs.py"),
    "rewards.py": ("scoring.py", "graders.py", "verifiers.py", "reward_fns.py"),
    "losses.py": ("objectives.py", "ppo_math.py", "rl_losses.py", "advantage.py"),
    "rollout.py": ("sampling.py", "engine.py", "workers.py", "generate.py"),
    "export.py": ("exporting.py", "release.py", "publish.py", "to_server.py"),
    "marks.py": ("step_labels.py", "judged.py", "marking.py", "solution_rows.py", "verdicts.py"),
    "prepare.py": ("preprocess.py", "make_rows.py", "raw_rows.py", "ingest.py", "two_sources.py"),
    "batches.py": ("loader.py", "padded.py", "feeding.py", "row_stream.py", "batched.py"),
    "evaluate.py": ("held_out.py", "run_eval.py", "measure.py", "eval_task.py", "exam_rows.py"),
    "choose.py": ("pick.py", "best_of.py", "select_ckpt.py", "ranking.py", "candidates.py"),
    "collectives.py": ("comm.py", "fake_dist.py", "exchange.py", "cluster.py", "ring.py"),
    "replicas.py": ("ranks.py", "parallel.py", "copies_of.py", "dp_models.py", "on_ranks.py"),
    "shards.py": ("rank_rows.py", "dealing.py", "shard_data.py", "feeds_of.py", "input_files.py"),
    "packs.py": ("id_packs.py", "packed_rows.py", "from_ids.py", "pack_stream.py", "mixing.py"),
    "serve.py": ("smoke.py", "try_out.py", "served.py", "ask_server.py"),
}
NEW_FILES = ("run_utils.py", "setup_run.py", "common_bits.py", "builders.py", "run_parts.py")
MOST_MOVED = 0.6  # of the functions of train.py
OTHER_IMPORTS = {
    "os": "import os",
    "Path": "from pathlib import Path",
    "SimpleNamespace": "from types import SimpleNamespace",
    "json": "import json",
    "random": "import random",
    "sys": "import sys",
    "math": "import math",
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
}


@lru_cache(maxsize=4096)
def bound_in(node: cst.CSTNode) -> set[str]:
    """Names that a function or statement gives a value of its own."""
    bound = {p.name.value for p in trees.found(node, cst.Param)}
    for target in trees.found(node, cst.AssignTarget | cst.CompFor | cst.For | cst.AsName):
        inner = target.name if isinstance(target, cst.AsName) else target.target
        bound |= {one.value for one in _stored(inner)}
    bound |= {
        one.target.value
        for one in trees.found(node, cst.AnnAssign | cst.AugAssign)
        if isinstance(one.target, cst.Name)
    }
    inner_functions = [one for one in trees.found(node, cst.FunctionDef) if one is not node]
    return bound | {one.name.value for one in inner_functions}


def _stored(node: cst.CSTNode) -> Iterable[cst.Name]:
    if isinstance(node, cst.Name):
        yield node
    elif isinstance(node, cst.Tuple | cst.List):
        for element in node.elements:
            yield from _stored(element.value)


@lru_cache(maxsize=4096)
def free_in(node: cst.CSTNode) -> set[str]:
    """Names that a statement at the top of a module takes from around it."""
    if isinstance(trees.only(node), cst.Import | cst.ImportFrom):
        return set()
    return trees.names_in(node) - bound_in(node)


def plan(
    projects: Sequence[trees.Modules], choices: Choices
) -> tuple[dict[str, str], dict[str, str]]:
    """New names of files, and the file that each function or constant moves to."""
    files = {}
    for name in sorted({name for modules in projects for name in modules} & OTHER_FILES.keys()):
        files[name] = choices.pick((name, *OTHER_FILES[name]), "file", name)
    homes, needs = {}, {}
    for modules in projects:
        own = trees.functions(modules[MAIN]) | trees.constants(modules[MAIN])
        for name, node in own.items():
            needs.setdefault(name, set()).update(free_in(node) & own.keys() - {name})
    goal = choices.pick((0.0, 0.35, MOST_MOVED), "share moved") * len(needs)
    target = choices.pick(NEW_FILES, "new file")
    for name in choices.ordered(needs, "moved"):
        whole = _closure(name, needs)
        if "main" not in whole and len({*homes, *whole}) <= goal:
            homes |= dict.fromkeys(whole, target)
    return files, homes


def _closure(name: str, needs: dict[str, set[str]]) -> set[str]:
    whole, waiting = set(), [name]
    while waiting:
        one = waiting.pop()
        if one not in whole:
            whole.add(one)
            waiting += needs.get(one, ())
    return whole


def linked(
    modules: trees.Modules, files: dict[str, str], homes: dict[str, str], choices: Choices
) -> trees.Modules:
    """The modules with their functions where the plan has them, in a drawn order."""
    known = {name: trees.statement(text) for name, text in OTHER_IMPORTS.items()}
    stems = {name.removesuffix(".py") for name in modules}
    for module in modules.values():
        binds = trees.imports(module).items()
        known |= {name: line for name, line in binds if trees.source_of(line) not in stems}
    bodies: dict[str, list[cst.BaseStatement]] = {files.get(name, name): [] for name in modules}
    for name, module in modules.items():
        for node in module.body:
            if not isinstance(trees.only(node), cst.Import | cst.ImportFrom):
                home = homes.get(_name_of(node)) if name == MAIN else None
                bodies.setdefault(home or files.get(name, name), []).append(node)
    defined = {_name_of(node): file for file, body in bodies.items() for node in body}
    return {
        file: _module(file, body, known, defined, choices) for file, body in bodies.items() if body
    }


def _name_of(node: cst.BaseStatement) -> str:
    pair = trees.assigned(node)
    return node.name.value if isinstance(node, trees.DEF) else pair[0] if pair else ""


def _module(
    file: str,
    body: list[cst.BaseStatement],
    known: dict[str, cst.BaseStatement],
    defined: dict[str, str],
    choices: Choices,
) -> cst.Module:
    own = {_name_of(node) for node in body}  # two files may have a helper of one name
    free = {name for node in body for name in free_in(node)} - own
    taken: dict[tuple[bool, str], list[str]] = {}
    for name in sorted(free):
        if name in defined:
            line = f"from {defined[name].removesuffix('.py')} import {name}"
            taken.setdefault((True, line.split(" import ")[0]), []).append(name)
        elif name in known:
            line = trees.bare(known[name]).strip()
            start, _, end = line.partition(" import ")
            key = start if end else line
            taken.setdefault((False, key), []).append(end or line)
    said = [node for node in body if _is_docstring(node)]
    rest = [node for node in body if node not in said]
    first = [n for n in rest if not isinstance(n, trees.DEF) and not isinstance(n, cst.If)]
    defs = {node.name.value: node for node in rest if isinstance(node, trees.DEF)}
    last = [node for node in rest if isinstance(node, cst.If)]
    ordered = [defs[name] for name in choices.ordered(defs, "order", file)]
    for early in [n for n in ordered if any(n.name.value in _at_once(other) for other in ordered)]:
        ordered.remove(early)
        ordered.insert(0, early)
    lines = [_spaced(node, 2) for node in (*ordered, *last)]
    constants = [_spaced(node, int(not number)) for number, node in enumerate(first)]
    text = "\n".join(_import_lines(taken, choices))
    head = cst.parse_module(f"{text}\n").body if text else []
    if said and head:
        head = [_spaced(head[0], 1), *head[1:]]
    whole = [*said, *head, *constants, *lines]
    return cst.Module([_spaced(whole[0], 0), *whole[1:]])


def _is_docstring(node: cst.BaseStatement) -> bool:
    return m.matches(node, m.SimpleStatementLine([m.Expr(m.SimpleString())]))


def _at_once(node: cst.BaseStatement) -> set[str]:
    """Names that are needed when the statement is met: decorators, bases, annotations, defaults."""
    parts = list(node.decorators)
    parts += list(node.bases) if isinstance(node, cst.ClassDef) else [node.params]
    if isinstance(node, cst.ClassDef):
        parts += [one.annotation for one in trees.found(node, cst.AnnAssign)]
    return {name for part in parts for name in trees.names_in(part)} - {node.name.value}


def _spaced(node: cst.BaseStatement, lines: int) -> cst.BaseStatement:
    kept = [line for line in node.leading_lines if line.comment]
    return node.with_changes(leading_lines=[cst.EmptyLine(indent=False)] * lines + kept)


def _import_lines(taken: dict[tuple[bool, str], list[str]], choices: Choices) -> list[str]:
    """Import lines: of the library, of packages, of this folder."""
    blocks: list[list[str]] = [[], [], []]
    for (is_own, key), names in taken.items():
        root = key.split()[1].split(".")[0]
        block = 2 if is_own else int(root not in sys.stdlib_module_names)
        if key.startswith("from "):
            line = f"{key} import {', '.join(sorted(names))}"
            if len(line) > 99:
                inner = "".join(f"    {name},\n" for name in sorted(names))
                line = f"{key} import (\n{inner})"
        else:
            line = key
        blocks[block].append(line)
    is_sorted = choices.chance(0.6, "imports sorted")
    made = [sorted(b) if is_sorted else choices.ordered(b, "import") for b in blocks if b]
    return "\n\n".join("\n".join(block) for block in made).split("\n")
