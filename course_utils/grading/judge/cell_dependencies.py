"""Finds the cells that an answer needs, by the names they bind, change and use. Runs nothing.

A guess that is wrong costs time or a second try, never points: where a name turns out to be
missing, every cell above the check is run.
"""

import ast
from collections import defaultdict
from dataclasses import dataclass

from course_utils.grading.judge.names import IMPORTS
from course_utils.grading.judge.syntax_trees import Code, read

ANSWER, CHECK, LESSON, PREDICTION = "answer", "check", "lesson", "prediction"


@dataclass(frozen=True)
class Unit:
    """A piece of a cell that runs as a whole: an import, or all the rest."""

    cell: int
    source: str
    is_own: bool  # the lesson's, not the student's

    @property
    def code(self) -> Code:
        return read(self.source)

    @property
    def tree(self) -> ast.Module:
        return self.code.tree

    @property
    def changes(self) -> frozenset[str]:
        """Names whose value it changes in place."""
        return self.code.changes

    @property
    def surely_binds(self) -> set[str]:
        return self.code.names.surely

    @property
    def uses(self) -> frozenset[str]:
        return self.code.uses


class Units:
    """The units of a notebook above a check, by the names that they bind."""

    def __init__(self, units: list[Unit], exercise_id: str, cells: list[dict]) -> None:
        self.all = units
        self.answers = [u for u in units if is_answer(cells[u.cell], exercise_id)]
        self.stars = [u for u in units if "*" in u.code.left]
        modules = {name for unit in units for name in unit.code.imported}
        effects = _effects([unit for unit in units if not unit.is_own], modules)
        self._binders: dict[str, list[Unit]] = defaultdict(list)
        for unit in units:
            bound = set(unit.code.left)
            if not unit.is_own:  # also what it may change
                bound |= unit.changes | (unit.code.touches - modules)
                given = {id(effects[f]): effects[f] for f in unit.uses & effects.keys()}
                bound.update(*given.values())
            for name in bound:
                self._binders[name].append(unit)

    def binders(self, name: str) -> list[Unit]:
        """All of the student's units that bind a name; of the lesson's, the last above the answer.

        What the lesson then does to that value, such as `trainer.train()`, is run as well.
        """
        found = [unit for unit in self._binders.get(name, ()) if unit not in self.answers]
        own = [unit for unit in found if unit.is_own]
        theirs = [unit for unit in found if not unit.is_own]
        if not own:
            return theirs
        first = self.answers[0].cell if self.answers else len(self.all)
        last = ([unit for unit in own if unit.cell < first] or own)[-1]
        is_value = not isinstance(last.tree.body[0], IMPORTS)  # and no module
        after = [u for u in self.all if u.is_own and is_value and last.cell < u.cell < first]
        if any(last.cell < u.cell < first and name in u.surely_binds for u in theirs):
            return theirs  # the lesson's value is gone by then
        return [*theirs, last, *(unit for unit in after if name in unit.changes)]

    def of_answer(self, name: str) -> list[Unit]:
        """The student's units on which the value of `name` depends, besides the answer's cell."""
        theirs = [u for u in self._binders.get(name, ()) if not u.is_own and u not in self.answers]
        is_fresh = any(name in unit.surely_binds for unit in self.answers)
        return [u for u in theirs if not is_fresh or u.cell > self.answers[0].cell]


def _effects(units: list[Unit], modules: set[str]) -> dict[str, set[str]]:
    """The changes that calling a student's function may make, by its name."""
    owner = {name: n for n, unit in enumerate(units) for name, _ in unit.code.functions}
    changed = [set(unit.code.touches - modules) for unit in units]
    called = [{owner[f] for f in unit.uses & owner.keys()} for unit in units]
    for _ in range(3):  # functions that call functions
        for mine, others in zip(changed, called, strict=True):
            mine.update(*(changed[n] for n in others))
    return {name: changed[n] for name, n in owner.items()}


def units_of(cell: int, source: str, *, is_own: bool) -> list[Unit]:
    """A cell's imports one by one, and the rest of it."""
    whole = Unit(cell, source, is_own)
    imports = [node for node in whole.tree.body if isinstance(node, IMPORTS)]
    if not is_own or not imports:
        return [whole]
    rest = [node for node in whole.tree.body if node not in imports]
    units = [Unit(cell, ast.unparse(node), is_own) for node in imports]
    return [*units, *([Unit(cell, ast.unparse(rest), is_own)] if rest else [])]


def needed(cells: list[dict], exercise_id: str, reads: dict[str, str], name: str) -> list[Unit]:
    """The units that must run for one answer, in the order of the notebook.

    Args:
        cells: with `source`, `role` and `exercise`.
        reads: what each exercise, by its attribute such as "MEAN", calls its answer.
        name: what this one calls its answer.
    """
    above = [
        unit
        for at, cell in enumerate(cells[: end_of(cells, exercise_id)])
        if cell["role"] != CHECK
        for unit in units_of(at, cell["source"], is_own=cell["role"] == LESSON)
    ]
    units = Units(above, exercise_id, cells)
    taken = {*units.answers, *units.of_answer(name), *units.stars}
    wanted = [name for unit in taken for name in unit.uses]
    seen = set()
    while wanted:
        name = wanted.pop()
        name = reads.get(name, name)
        if name in seen:
            continue
        seen.add(name)
        for unit in units.binders(name):
            if unit not in taken:
                taken.add(unit)
                wanted += unit.uses
    return [unit for unit in above if unit in taken]


def everything(cells: list[dict], exercise_id: str) -> list[Unit]:
    """Every cell above the check of an exercise."""
    return [
        Unit(at, cell["source"], cell["role"] == LESSON)
        for at, cell in enumerate(cells[: end_of(cells, exercise_id)])
        if cell["role"] != CHECK
    ]


def literal(cells: list[dict], exercise_id: str, name: str) -> tuple[bool, object]:
    """The answer, if it is written out as a value and no student's cell can have changed it."""
    written = [cell for cell in cells if is_answer(cell, exercise_id)]
    if len(written) != 1:
        return False, None
    body = read(written[0]["source"]).tree.body
    is_one = len(body) == 1 and isinstance(body[0], ast.Assign) and len(body[0].targets) == 1
    if not is_one or not isinstance(body[0].targets[0], ast.Name) or body[0].targets[0].id != name:
        return False, None
    others = [c for c in cells if c["role"] not in (LESSON, CHECK) and c is not written[0]]
    if any({name, "*"} & (c.left | c.touches) for c in (read(o["source"]) for o in others)):
        return False, None
    try:
        return True, ast.literal_eval(body[0].value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False, None


def identifiers(cells: list[dict], name: str) -> frozenset[str]:
    """Every name and attribute in the answer's function and the functions it uses."""
    functions, found, wanted = {}, set(), [name]
    for cell in cells:
        if cell["role"] in (ANSWER, ""):
            functions |= {f or name: node for f, node in read(cell["source"]).functions}
    while wanted:
        node = functions.pop(wanted.pop(), None)
        for part in ast.walk(node) if node else ():
            text = part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", None)
            if isinstance(text, str):
                found.add(text)
                wanted.append(text)
    return frozenset(found)


def end_of(cells: list[dict], exercise_id: str) -> int:
    """The number of the first check of an exercise, or of the cell after its answer."""
    checks = [
        at for at, c in enumerate(cells) if (c["role"], c["exercise"]) == (CHECK, exercise_id)
    ]
    answers = [at for at, c in enumerate(cells) if is_answer(c, exercise_id)]
    return max([*checks[:1], *(at + 1 for at in answers)], default=len(cells))


def is_answer(cell: dict, exercise_id: str) -> bool:
    return (cell["role"], cell["exercise"]) == (ANSWER, exercise_id)
