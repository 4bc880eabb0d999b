"""Which cells an answer needs, by the names they bind and use. Runs nothing.

A guess that is wrong costs time or a second try, never points: where a name turns out to be
missing, every cell above the check is run.
"""

import ast
from dataclasses import dataclass
from functools import cached_property

from IPython.core.inputtransformer2 import TransformerManager

from course_utils.grading.judge.names import Names, changed_names, dotted, names_of

ANSWER, CHECK, LESSON, PREDICTION = "answer", "check", "lesson", "prediction"
IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Unit:
    """A piece of a cell that is run as a whole: an import, or all the rest."""

    cell: int
    source: str
    is_own: bool  # the lesson's, not the student's

    @cached_property
    def tree(self) -> ast.Module:
        try:
            return ast.parse(TransformerManager().transform_cell(self.source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def _names(self) -> Names:
        try:
            return names_of(self.tree)
        except RecursionError:
            return Names()

    @cached_property
    def binds(self) -> frozenset[str]:
        """Names it gives a value; in a student's cell, also those whose value it may change."""
        return frozenset(self._names.left | (frozenset() if self.is_own else self.changes))

    @cached_property
    def changes(self) -> frozenset[str]:
        """Names whose value it changes in place."""
        return frozenset(changed_names(self.tree))

    @property
    def surely_binds(self) -> set[str]:
        return self._names.surely

    @cached_property
    def uses(self) -> frozenset[str]:
        return frozenset(self._names.taken | set(_asked_answers(self.tree)))


def units_of(cell: int, source: str, *, is_own: bool) -> list[Unit]:
    """A cell's imports one by one, and what is left of it."""
    whole = Unit(cell, source, is_own)
    imports = [node for node in whole.tree.body if isinstance(node, IMPORTS)]
    if not is_own or not imports:
        return [whole]
    rest = [node for node in whole.tree.body if node not in imports]
    units = [Unit(cell, ast.unparse(node), is_own) for node in imports]
    return [*units, *([Unit(cell, ast.unparse(rest), is_own)] if rest else [])]


def needed(cells: list[dict], exercise_id: str, reads: dict[str, str]) -> list[Unit]:
    """What must run for one answer, in the order of the notebook.

    Args:
        cells: with `source`, `role` and `exercise`.
        reads: what each exercise, by its attribute such as "MEAN", calls its answer.
    """
    end = _end(cells, exercise_id)
    units = [
        unit
        for at, cell in enumerate(cells[:end])
        if cell["role"] != CHECK
        for unit in units_of(at, cell["source"], is_own=cell["role"] == LESSON)
    ]
    answers = [u for u in units if is_answer(cells[u.cell], exercise_id)]
    taken = set(answers)
    wanted = [name for unit in answers for name in unit.uses]
    seen = set()
    while wanted:
        name = wanted.pop()
        name = reads.get(name, name)
        if name in seen:
            continue
        seen.add(name)
        for unit in _binders(units, name, answers):
            if unit not in taken:
                taken.add(unit)
                wanted += unit.uses
    stars = [u for u in units if "*" in u.binds]
    return [unit for unit in units if unit in taken or unit in stars]


def everything(cells: list[dict], exercise_id: str) -> list[Unit]:
    """Every cell above the check of an exercise."""
    return [
        Unit(at, cell["source"], cell["role"] == LESSON)
        for at, cell in enumerate(cells[: _end(cells, exercise_id)])
        if cell["role"] != CHECK
    ]


def literal(cells: list[dict], exercise_id: str, name: str) -> tuple[bool, object]:
    """The answer, where it is written out as a value and no student's cell can have changed it."""
    written = [cell for cell in cells if is_answer(cell, exercise_id)]
    if len(written) != 1:
        return False, None
    body = Unit(0, written[0]["source"], is_own=False).tree.body
    others = [
        u for at, c in enumerate(cells) if c["role"] == "" for u in [Unit(at, c["source"], False)]
    ]
    is_one = len(body) == 1 and isinstance(body[0], ast.Assign) and len(body[0].targets) == 1
    if not is_one or not isinstance(body[0].targets[0], ast.Name) or body[0].targets[0].id != name:
        return False, None
    if any(name in unit.binds or "*" in unit.binds for unit in others):
        return False, None
    try:
        return True, ast.literal_eval(body[0].value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False, None


def drawn(cells: list[dict], exercise_id: str, attribute: str) -> int:
    """The seed of the last `ex.NAME.draw(seed)` with a plain number above the check, else 0."""
    seed = 0
    for cell in cells[: _end(cells, exercise_id)]:
        for node in ast.walk(Unit(0, cell["source"], is_own=False).tree):
            if isinstance(node, ast.Call) and dotted(node.func).endswith(f".{attribute}.draw"):
                values = [a.value for a in node.args if isinstance(a, ast.Constant)]
                seed = values[0] if values and type(values[0]) is int else seed
    return seed % 1000


def identifiers(cells: list[dict], exercise_id: str, name: str) -> frozenset[str]:
    """Every name and attribute in the answer's function and the functions it uses."""
    functions, found, wanted = {}, set(), [name]
    for cell in cells:
        if cell["role"] in (ANSWER, ""):
            for node in ast.walk(Unit(0, cell["source"], is_own=False).tree):
                if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
                    functions[getattr(node, "name", name)] = node
    while wanted:
        node = functions.pop(wanted.pop(), None)
        for part in ast.walk(node) if node else ():
            text = part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", None)
            if isinstance(text, str):
                found.add(text)
                wanted.append(text)
    return frozenset(found)


def _end(cells: list[dict], exercise_id: str) -> int:
    checks = [
        at for at, c in enumerate(cells) if (c["role"], c["exercise"]) == (CHECK, exercise_id)
    ]
    answers = [at for at, c in enumerate(cells) if is_answer(c, exercise_id)]
    return max([*checks[:1], *(at + 1 for at in answers)], default=len(cells))


def is_answer(cell: dict, exercise_id: str) -> bool:
    return (cell["role"], cell["exercise"]) == (ANSWER, exercise_id)


def _binders(units: list[Unit], name: str, answers: list[Unit]) -> list[Unit]:
    """All of the student's units that bind a name; of the lesson's, the last one above the answer.

    What the lesson then does to that value, such as `trainer.train()`, is run as well.
    """
    found = [unit for unit in units if name in unit.binds and unit not in answers]
    first = answers[0].cell if answers else len(units)
    own = [unit for unit in found if unit.is_own]
    above = [unit for unit in own if unit.cell < first] or own
    last = above[-1:]
    is_value = bool(last) and not isinstance(last[0].tree.body[0], IMPORTS)  # and no module
    after = [u for u in units if u.is_own and is_value and last[0].cell < u.cell < first]
    theirs = [unit for unit in found if not unit.is_own]
    if last and any(last[0].cell < u.cell < first and name in u.surely_binds for u in theirs):
        return theirs  # the lesson's value is gone by then
    return [*theirs, *last, *(unit for unit in after if name in unit.changes)]


def _asked_answers(tree: ast.Module) -> list[str]:
    """NAME of every `ex.NAME.answer`."""
    return [
        node.value.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "answer"
        and isinstance(node.value, ast.Attribute)
    ]
